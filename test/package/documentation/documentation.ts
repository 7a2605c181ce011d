import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { productionSnapshot } from "../../../components/cluster/testing/snapshot.fixtures.ts"
import { BUN, root, TSC, type Project } from "../project.ts"
import { blocksOf, type Block } from "./blocks.ts"
import { completed, printing, type Exports } from "./complete.ts"
import { GIVEN, PRINTED } from "./given.ts"

/** The pages that show how tests use the package, and the one that also shows what tests print. */
const PAGES = ["README.md", "docs/testing.md", "docs/backup.md"]
const WITH_OUTPUT = "docs/testing.md"
/** What the blocks read, in their folder. */
const FILES = join(import.meta.dirname, "files")

const blocks = PAGES.flatMap(blocksOf).filter(({ language }) => language === "ts")
const outputs = blocksOf(WITH_OUTPUT).filter(({ language }) => language === "")
/** A block that is a module of its own begins with the name of its file, `// drill.ts`. Other blocks import it. */
const moduleOf = ({ text }: Block): string | undefined =>
  /^export default\b/m.test(text) ? /^\/\/ (\S+\.ts)$/m.exec(text)?.[1] : undefined
const tests = blocks.filter((block) => moduleOf(block) === undefined)
const fileOf = (block: Block): string => `blocks/${moduleOf(block) ?? `${block.name.replaceAll(/[/:]/g, "-")}.test.ts`}`

/**
 * Tests each block of the documentation as a test of its own in a project that has the package: its types, in one run
 * of tsc for all, and what it does, in one run of `bun test`. A block that needs something that it does not show has an
 * entry in given.ts.
 */
export function testDocumentation(project: Project): void {
  describe("the documentation", () => {
    let types = ""
    let runs = ""
    beforeAll(async () => {
      cpSync(FILES, project.folder, { recursive: true })
      const { bytes } = await productionSnapshot()
      await Bun.write(join(project.folder, "snapshot-node1-1795399200.zst"), bytes)
      const exports = exportsOf()
      for (const block of tests) project.write(fileOf(block), completed(block, entryFor(GIVEN, block) ?? {}, exports))
      for (const block of blocks) if (!tests.includes(block)) project.write(fileOf(block), block.text)
      for (const block of outputs) project.write(fileOf(block), printing(block, entryFor(PRINTED, block), exports))
      project.write("blocks/tsconfig.json", CONFIG)
      types = project.run(BUN, [TSC, "-p", "blocks"]).output
      runs = project.run(BUN, ["test", "--timeout", "60000", "./blocks"], {}, 500_000).output
    }, 600_000)
    afterAll(() => project.remove("blocks"))

    test.each(blocks.map((block) => [block.name, block] as const))("%s has no type error", (_name, block) => {
      const errors = types.split("\n").filter((line) => line.startsWith(fileOf(block)))
      expect(errors).toEqual([])
    })

    test("types are checked at all", () => {
      expect(types.split("\n").filter((line) => line !== "" && !/^(blocks\/| )/.test(line))).toEqual([])
    })

    test.each([...tests, ...outputs].map((block) => [block.name, block] as const))("%s is true", (_name, block) => {
      const [, told = "it was not run"] = runs.split(`${fileOf(block)}:\n`)
      const [own = ""] = told.split(/^(?:blocks\/|\d+ tests? failed:| \d+ pass$)/m)
      if (/^\(fail\)/m.test(own) || !/^\(pass\)/m.test(own)) throw new Error(own)
    })

    test.each([...GIVEN, ...PRINTED])("what is given for $block is of exactly one block", ({ block: part }) => {
      expect([...blocks, ...outputs].filter(({ text }) => text.includes(part)).map(({ name }) => name)).toHaveLength(1)
    })
  })
}

/** Blocks are compiled as strictly as our own code, but may leave names unused. */
const CONFIG = JSON.stringify({
  compilerOptions: {
    target: "esnext",
    module: "preserve",
    moduleResolution: "bundler",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    typeRoots: [join(root, "node_modules")],
    types: ["bun-types"],
  },
  include: ["."],
})

const entryFor = <T extends { readonly block: string }>(entries: readonly T[], { text }: Block): T | undefined =>
  entries.find(({ block }) => text.includes(block))

/** Returns what each way into the package exports, from the list of its API. */
const exportsOf = (): Exports =>
  Object.fromEntries(
    readFileSync(join(root, "docs/api.txt"), "utf8")
      .split(/^(?=\S)/m)
      .filter((part) => /^k3ts\/(testing|operator)\n/.test(part))
      .map((part) => part.trim().split(/\s*\n\s*/))
      .map(([way = "", ...names]) => [way, names]),
  )
