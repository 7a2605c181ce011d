import type { Block } from "./blocks.ts"
import type { Given } from "./given.ts"

/** What a block that says nothing of its cluster is about. */
const USUAL_CLUSTER = `await using cluster = await startCluster({ nodes: 3 })
await cluster.apply("chart/")
await cluster.eventually(Pod, {}, (pods) => pods.length === 4 && pods.every(({ status }) => status.phase === "Running"))`

/** What each way into the package exports: values by their names, and types after the word `type`. */
export type Exports = Readonly<Record<string, readonly string[]>>

/**
 * Returns a test of bun whose body is a block, with what it leaves out: what is imported, its cluster, and what `given`
 * says. A block that has tests of its own stays as it is. Lines keep the numbers that they have in the page, so that an
 * error shows where the page is wrong.
 */
export function completed(
  { name, line, text }: Block,
  { given, after = "" }: Partial<Given>,
  exports: Exports,
): string {
  const lines = text.split("\n")
  const isImport = (one: string) => /^import\b/.test(one)
  const body = lines.map((one) => (isImport(one) ? "" : one)).join("\n")
  const isWhole = /^test(\.each)?\(/m.test(body)
  const before = isWhole ? "" : (given ?? (declares(body, "cluster") || !uses(body, "cluster") ? "" : USUAL_CLUSTER))
  const imports = lines.filter(isImport)
  const code = `${before}\n${body}\n${after}`
  const head = [
    ...imports,
    `import { expect, test } from "bun:test"`,
    ...missingImports(code, imports.join("\n"), exports),
    ...(isWhole ? [] : [`test(${JSON.stringify(name)}, async () => {`]),
    ...(before === "" ? [] : [before]),
  ].join("\n")
  const padding = "\n".repeat(Math.max(1, line - head.split("\n").length))
  return `${head}${padding}${body}\n${after}\n${isWhole ? "" : "})\n"}`
}

/** Returns an import for each way in of which the code uses names without importing or declaring them. */
function missingImports(code: string, imports: string, exports: Exports): readonly string[] {
  const taken = new Set<string>()
  return Object.entries(exports).flatMap(([from, names]) => {
    const missing = names.filter((exported) => {
      const name = exported.replace(/^type /, "")
      return !taken.has(exported) && uses(code, name) && !uses(imports, name) && !declares(code, name)
    })
    missing.forEach((name) => taken.add(name))
    return missing.length === 0 ? [] : [`import { ${missing.join(", ")} } from ${JSON.stringify(from)}`]
  })
}

/** Whether a text has the name as a word of its own, which is not a member of something. */
const uses = (code: string, name: string): boolean => new RegExp(`(?<![.\\w"])${name}\\b(?!:|")`).test(code)
const declares = (code: string, name: string): boolean =>
  new RegExp(`\\b(const|let|using|function|class) ${name}\\b`).test(code)

/** Returns a test of bun that compares what a block shows with what its code returns. */
export function printing(
  { name, text }: Block,
  printed: { readonly by: string } | undefined,
  exports: Exports,
): string {
  const by = printed?.by ?? `throw new Error("say in given.ts how a test comes to print this")`
  return `import { expect, test } from "bun:test"
${missingImports(by, "", exports).join("\n")}
test(${JSON.stringify(name)}, async () => {
  const printed = await (async (): Promise<unknown> => {
${by}
  })()
  expect(printed).toMatch(new RegExp(${JSON.stringify(patternOf(text))}))
})
`
}

/** A pattern for a text in which `…` stands for anything. */
const patternOf = (text: string): string =>
  `^${text
    .split("…")
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("[^]*")}$`
