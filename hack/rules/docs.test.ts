import { describe, expect, test } from "bun:test"
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

describe("the documentation", () => {
  const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))

  test.each(["README.md", ...pages.map((name) => `docs/${name}`)])("%s names only files that exist", (page) => {
    const paths = pathsIn(read(page))
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test("every row of the table of what to open has a path", () => {
    const table = read("docs/architecture.md").split("| to change | open |")[1]!.split("\n\n")[0]!
    const rows = table.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.filter((row) => pathsIn(row).length === 0)).toEqual([])
  })

  test("the table of the tree has a row for every component", () => {
    const table = read("docs/architecture.md").split("| folder | what is in it | start at |")[1]!.split("\n\n")[0]!
    const lacking = readdirSync(join(root, "components")).filter(
      (name) => !table.includes(`\n| \`components/${name}\` |`),
    )
    expect(lacking).toEqual([])
  })
})
