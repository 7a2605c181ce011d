/** Builds the documentation as static HTML: `bun hack/site/main.ts [FOLDER]`, dist/site by default. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { framed } from "./frame.ts"
import { render } from "./markdown.ts"
import { htmlOf, PAGES } from "./pages.ts"

const ROOT = join(import.meta.dirname, "../..")

/** Where the pages of docs/ have their images. In the site they are in a folder of the same name beside the pages. */
const IMAGES = join(ROOT, "docs/images")

/**
 * Writes all pages and their images into `folder`; `files` is the URL under which the files of the tree can be read. Returns the names of
 * the pages.
 */
export function buildSite(folder: string, files?: string): readonly string[] {
  mkdirSync(folder, { recursive: true })
  cpSync(IMAGES, join(folder, "images"), { recursive: true })
  return PAGES.map((page) => {
    const name = htmlOf(page.source)
    const text = readFileSync(join(ROOT, page.source), "utf8")
    writeFileSync(join(folder, name), framed(page, render(text, { source: page.source, files })))
    return name
  })
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(ROOT, "dist/site")
  process.stdout.write(
    `==> Wrote ${buildSite(folder, process.env.SOURCES).length} pages; begin with ${join(folder, "index.html")}\n`,
  )
}
