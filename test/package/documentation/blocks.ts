import { readFileSync } from "node:fs"
import { join } from "node:path"
import { marked, type Token } from "marked"
import { root } from "../project.ts"

/** A block of code in a page of the documentation. */
export interface Block {
  /** The page and the line of its first line: `docs/testing.md:149`. */
  readonly name: string
  /** Counted from 1. */
  readonly line: number
  /** `ts` for a program; empty for what a program prints. */
  readonly language: string
  readonly text: string
}

const USES_PACKAGE = /from "k3ts\/testing"/

/** Returns the blocks of a page; those that are only indented have the language `ts` if they import the package. */
export function blocksOf(page: string): readonly Block[] {
  const blocks: Block[] = []
  let line = 1
  for (const token of marked.lexer(readFileSync(join(root, page), "utf8"))) {
    const block = blockOf(token, page, line)
    if (block !== undefined) blocks.push(block)
    line += token.raw.split("\n").length - 1
  }
  return blocks
}

function blockOf(token: Token, page: string, line: number): Block | undefined {
  if (token.type !== "code") return undefined
  const { text, lang } = token as { readonly text: string; readonly lang?: string }
  const isFenced = /^ {0,3}(```|~~~)/.test(token.raw)
  if (!isFenced && !USES_PACKAGE.test(text)) return undefined
  const first = line + (isFenced ? 1 : 0)
  return { name: `${page}:${first}`, line: first, language: isFenced ? (lang ?? "") : "ts", text }
}
