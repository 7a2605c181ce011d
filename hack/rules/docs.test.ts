import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const root = join(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")

/** The paths from the root that a page names in backquotes; of `<group>/<kind>` in one, what stands before it. */
const pathsIn = (text: string): readonly string[] =>
  [...text.matchAll(/`((?:\.ci|cmd|components|docs|hack|manifests|pkg|test)\/[^`\s]*)`/g)].map(([, path]) => {
    const placeholder = path!.indexOf("<")
    return placeholder < 0 ? path! : dirname(`${path!.slice(0, placeholder)}x`)
  })

/** The part of architecture.md under a heading. */
const section = (heading: string): string => read("docs/architecture.md").split(`${heading}\n`)[1]!.split("\n## ")[0]!

/** The rows of all tables in a text, without their heads. */
const rowsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^\| (?!---|folder |to change ).*$/gm)].map(([row]) => row)

/** The files that a text names and that are neither at their path nor below one of these folders. */
const lackingIn = (text: string, folders: readonly string[]): readonly string[] =>
  [...text.matchAll(/`([\w./-]+\.(?:ts|sh))`/g)]
    .map(([, name]) => name!)
    .filter((name) => !["", ...folders].some((folder) => existsSync(join(root, folder, name))))

describe("the documentation", () => {
  const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))

  test.each(["README.md", ...pages.map((name) => `docs/${name}`)])("%s names only files that exist", (page) => {
    const paths = pathsIn(read(page))
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test("the way of a request in the README names only files that exist", () => {
    const way = read("README.md").split("## Reading the source\n")[1]!.split("\n## ")[0]!
    expect(way.match(/`[^`]+\.ts`/g)!.length).toBeGreaterThan(25)
    expect(lackingIn(way, [])).toEqual([])
  })

  test("every row of the table of what to open names a path, and only files that exist", () => {
    const rows = rowsOf(section("## To change something"))
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.filter((row) => pathsIn(row).length === 0)).toEqual([])
    // A name without its folder is of a file beside or below a path of the same row.
    const folders = (row: string) => pathsIn(row).flatMap((path) => (path.includes(".") ? [dirname(path)] : [path]))
    expect(rows.flatMap((row) => lackingIn(row, folders(row)))).toEqual([])
  })

  test("the tree has a row for every component, package and folder of tests, and names only files that exist", () => {
    const rows = rowsOf(section("## The tree"))
    const told = new Map(rows.map((row) => [row, pathsIn(`${row.split(" | ")[0]} `)]))
    const folders = ["components", "pkg", "test"].flatMap((top) =>
      readdirSync(join(root, top), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `${top}/${name}`),
    )
    expect(folders.filter((folder) => ![...told.values()].flat().includes(folder))).toEqual([])
    expect([...told].flatMap(([row, of]) => lackingIn(row, [...of, "hack"]))).toEqual([])
  })

  test("the top of the repository has no file that was left there by mistake", () => {
    const { stdout, status } = spawnSync("git", ["ls-files"], { cwd: root, encoding: "utf8" })
    if (status !== 0) return // a source package is no repository
    const expected = ["CHANGELOG.md", "LICENSE", "README.md", "bunfig.toml", "package-lock.json", "package.json"]
    expect(stdout.split("\n").filter((path) => !/^\.|\//.test(path) && path !== "")).toEqual([
      ...expected,
      "tsconfig.json",
    ])
  })
})
