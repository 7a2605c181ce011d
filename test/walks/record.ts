/**
 * Loaded before all else into a process (`bun --preload`): notes in which order the files of a walk are entered.
 * `WALK_FILES` are their paths from the root, separated by spaces.
 */
import { plugin } from "bun"
import { relative, resolve } from "node:path"
import { codeOf } from "../../hack/rules/source.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const wanted = new Set((process.env["WALK_FILES"] ?? "").split(" "))

let entered: string[] | undefined

/** Begins to note what is entered. */
export function beginWalk(): void {
  entered = []
}

/** Writes the files that were entered to the standard output, as JSON. One that calls itself is entered once. */
export const endWalk = (): void => console.log(JSON.stringify(entered))

Object.assign(globalThis, {
  enter(path: string) {
    if (entered !== undefined && entered.at(-1) !== path) entered.push(path)
  },
})

plugin({
  name: "walk",
  setup(build) {
    build.onLoad({ filter: /\/(?:components|pkg)\/.*\.ts$/ }, async ({ path }) => {
      const text = await Bun.file(path).text()
      const name = relative(ROOT, path)
      return { contents: wanted.has(name) ? noting(name, text) : text, loader: "ts" }
    })
  },
})

/** Returns a source whose functions note that they were entered, as some of its blocks do. */
function noting(name: string, text: string): string {
  const code = codeOf(text).split("\n")
  return text
    .split("\n")
    .map((line, i) =>
      BEGINS.test(code[i]!) && !NO_BLOCK.test(code[i]!) ? `${line}enter(${JSON.stringify(name)});` : line,
    )
    .join("\n")
}

/** The end of a line after which the body of a function, or another block, begins. */
const BEGINS = /(?:\)(?:: [^{}]*)?|=>) \{$/
const NO_BLOCK = /^\s*(?:\} else )?switch \(|^\s*(?:export )?(?:type|interface|abstract class|class) /
