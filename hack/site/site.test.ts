import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, posix } from "node:path"
import { buildSite } from "./main.ts"
import { anchorOf, outline, render } from "./markdown.ts"
import { PAGES } from "./pages.ts"

const ROOT = join(import.meta.dirname, "../..")
const read = (source: string) => readFileSync(join(ROOT, source), "utf8")

describe("the documentation", () => {
  test("has every file of docs/ in its table of contents", () => {
    const files = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"))
    const listed = PAGES.map(({ source }) => source)
    expect(files.map((name) => `docs/${name}`).filter((source) => !listed.includes(source))).toEqual([])
    expect(listed.filter((source) => !existsSync(join(ROOT, source)))).toEqual([])
  })

  test.each(PAGES.map(({ source }) => source))("%s links only to what is there", (source) => {
    const { links } = outline(read(source))
    const broken = links
      .map(({ href }) => href)
      .filter((href) => !/^[a-z]+:/i.test(href))
      .filter((href) => {
        const [path = "", anchor] = href.split("#")
        const file = path === "" ? source : posix.join(posix.dirname(source), path)
        if (!existsSync(join(ROOT, file))) return true
        return anchor !== undefined && file.endsWith(".md") && !outline(read(file)).anchors.has(anchor)
      })
    expect(broken).toEqual([])
  })
})

describe("the site", () => {
  let folder: string
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "k3ts-site-"))))
  afterAll(() => rmSync(folder, { recursive: true }))

  test("is one HTML file for each page, and begins with the README", () => {
    expect(buildSite(folder)).toHaveLength(PAGES.length)
    expect(readdirSync(folder).sort()).toEqual([...buildSite(folder), "images"].sort())
    expect(readFileSync(join(folder, "index.html"), "utf8")).toContain("<title>k3ts</title>")
  })

  test("contains the images of its pages", () => {
    const images = buildSite(folder).flatMap((name) =>
      [...readFileSync(join(folder, name), "utf8").matchAll(/<img [^>]*src="([^"]+)"/g)].map(([, path]) => path!),
    )
    expect(images.length).toBeGreaterThan(0)
    expect(images.filter((path) => !existsSync(join(folder, path)))).toEqual([])
  })

  test("loads nothing from other sites", () => {
    for (const name of buildSite(folder))
      expect(readFileSync(join(folder, name), "utf8")).not.toMatch(/<script|<link|src="http/)
  })
})

describe("a page as HTML", () => {
  test.each<{ title: string; text: string; wants: string }>([
    {
      title: "links to other pages by their file names in the site",
      text: "[DNS](dns.md#stub-domains) [top](../README.md)",
      wants: '<p><a href="dns.html#stub-domains">DNS</a> <a href="index.html">top</a></p>\n',
    },
    {
      title: "links to files of the repository at their public address",
      text: "[web](../manifests/examples/web.yaml)",
      wants: '<p><a href="https://files.example.org/manifests/examples/web.yaml">web</a></p>\n',
    },
    {
      title: "keeps addresses and anchors",
      text: "[a](https://kubernetes.io) [b](#c)",
      wants: '<p><a href="https://kubernetes.io">a</a> <a href="#c">b</a></p>\n',
    },
    {
      title: "has an anchor for each heading",
      text: "## Who may `exec`?",
      wants: '<h2 id="who-may-exec">Who may <code>exec</code>? <a class="anchor" href="#who-may-exec">#</a></h2>\n',
    },
  ])("$title", ({ text, wants }) =>
    expect(render(text, { source: "docs/x.md", files: "https://files.example.org" })).toBe(wants),
  )

  test("names files of the repository without a link if their public address is not known", () => {
    expect(render("[web](../manifests/web.yaml)", { source: "docs/x.md" })).toBe("<p>web</p>\n")
  })

  test.each([
    ["Backup and recovery", "backup-and-recovery"],
    ["Kubernetes' answers", "kubernetes-answers"],
    ["`k3ts server`, and more", "k3ts-server-and-more"],
  ])("%p has the anchor %p", (heading, wants) => expect(anchorOf(heading)).toBe(wants))
})
