/**
 * Tries every regular expression of the program with texts that make ambiguous expressions backtrack again and again.
 */
import { expect, test } from "bun:test"
import { Glob } from "bun"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { codeOf, isTest, lineAt } from "../../hack/rules/source.ts"
import { growth } from "./growth.ts"

const ROOT = join(import.meta.dirname, "../..")

interface Found {
  readonly where: string
  readonly pattern: RegExp
}

/** The regular expressions in the source that repeat something. */
function regularExpressions(): readonly Found[] {
  return ["cmd", "components", "pkg"].flatMap((room) =>
    [...new Glob("**/*.ts").scanSync(join(ROOT, room))]
      .map((file) => `${room}/${file}`)
      .filter((path) => !isTest(path))
      .flatMap((path) => {
        const text = readFileSync(join(ROOT, path), "utf8")
        // `codeOf` blanks the content of strings and regular expressions.
        return [...codeOf(text).matchAll(/\/( +)\/([dgimsuvy]*)/g)].flatMap(
          ({ 1: blank, 2: flags, index }): Found[] => {
            const source = text.slice(index + 1, index + 1 + blank!.length)
            if (source.trim() === "" || !/[*+]|\{\d*,/.test(source)) return []
            return [{ where: `${path}:${lineAt(text, index)}`, pattern: new RegExp(source, flags) }]
          },
        )
      }),
  )
}

/** Pieces to repeat: the characters of a pattern, one and two at a time, and some that classes like \d match. */
function pieces({ source }: RegExp): readonly string[] {
  const literal = source.replaceAll(/\\[dwsSDWbBpP]|[\\^]/g, "")
  const single = new Set(`${literal}a0-. /`.split(""))
  const pairs = Array.from(literal, (_, i) => literal.slice(i, i + 2)).filter(({ length }) => length === 2)
  return [...new Set([...single, ...pairs])]
}

const LENGTH = 2_000
/** A text with which no pattern ends. */
const END = "\u0000!"

/** A kind of text for which the time grows faster than the text; undefined when none was found. */
function worstOf(pattern: RegExp): string | undefined {
  const run = (text: string) => (pattern.global ? text.replaceAll(pattern, "") : pattern.test(text))
  const first = pattern.source.replace(/^[\^\\(?:]+/, "").slice(0, 1)
  for (const prefix of ["", first])
    for (const piece of pieces(pattern)) {
      const { large, factor } = growth((size) => prefix + piece.repeat(size / piece.length) + END, run, LENGTH)
      if (factor > 3) return `${large} ms for ${JSON.stringify(prefix)} and many ${JSON.stringify(piece)}`
    }
  return undefined
}

test("no regular expression takes time that grows faster than the text", () => {
  const expressions = regularExpressions()
  expect(expressions.length).toBeGreaterThan(100)
  const slow = expressions.flatMap(({ where, pattern }) => {
    const worst = worstOf(pattern)
    return worst === undefined ? [] : [`${where} ${String(pattern)}: ${worst}`]
  })
  expect(slow).toEqual([])
}, 60_000)
