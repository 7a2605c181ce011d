/**
 * Examples and lists of doc comments stand on lines of their own, indented: a program that wraps comments at a width
 * joins all other lines, after which code and numbered items stand in the middle of sentences.
 */
import { lineAt, type SourceFile, type Violation } from "./source.ts"

const COMMENT = /^ *\/\*\*[^]*?\*\//gm
const QUOTED = /`[^`]*`|"[^"]*"/g
/** Signs that occur in code and not in English. */
const CODE = /=>|\(\{|\}\)|\bimport \{|\b(?:const|let|using) (?:\w+ =|[{[])/
const SECOND_ITEM = /\S 2\. \S/
const DASHED_ITEM = /: - \S/

/** Every doc comment in which an example or a list is running text. `files` are TypeScript. */
export function commentViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(COMMENT)].flatMap(({ 0: comment, index }): Violation[] => {
      const running = runningTextOf(comment)
      const what = CODE.test(running.replaceAll(QUOTED, "``"))
        ? "has code in the sentences of a comment"
        : DASHED_ITEM.test(running) || (SECOND_ITEM.test(running) && / 1\. \S/.test(running))
          ? "has a list in the sentences of a comment"
          : undefined
      if (what === undefined) return []
      return [{ path, line: lineAt(text, index), message: what, mend: "indent its lines, or quote it with backquotes" }]
    }),
  )
}

/** Joins the lines of a comment that are neither indented nor an item of a list. */
const runningTextOf = (comment: string): string =>
  comment
    .split("\n")
    .map((line) => line.replace(/^ *(?:\/\*\*|\*\/|\*)/, "").replace(/\*\/$/, ""))
    .filter((line) => !/^ {2,}\S/.test(line))
    .join("")
