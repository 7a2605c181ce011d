/** A line of a Corefile: a plugin, or an option of a plugin, with the options in its own block. */
import { pushAll } from "../../../pkg/lists/push-all.ts"

export interface Directive {
  readonly name: string
  readonly args: readonly string[]
  readonly options: readonly Directive[]
  /** Counted from 1. */
  readonly line: number
}

/** The plugins for one or several zones. */
export interface ServerBlock {
  readonly zones: readonly string[]
  readonly directives: readonly Directive[]
  readonly line: number
}

interface Token {
  readonly text: string
  readonly line: number
  readonly isQuoted: boolean
}

/** How deep blocks may nest: the block of a server, of a plugin, and of one of its options. */
const DEEPEST = 3
const LONGEST = 1 << 20

/** The text is not a Corefile. The message names the line and the error. */
export class CorefileError extends Error {}

/**
 * Reads server blocks, as in the keys `*.server` of the ConfigMap coredns-custom. Snippets, imports and environment
 * variables are not supported. Source: https://coredns.io/manual/configuration/.
 * @throws CorefileError
 */
export function parseServers(text: string): readonly ServerBlock[] {
  const lines = linesOf(text)
  const servers: ServerBlock[] = []
  let at = 0
  while (at < lines.length) {
    const zones: string[] = []
    const { line } = lines[at]![0]!
    // The names of zones may go over several lines.
    for (let opened = false; !opened; at++) {
      const tokens = lines[at]
      if (tokens === undefined) throw new CorefileError(`line ${line}: "${zones.join(" ")}" is not followed by "{"`)
      opened = opens(tokens)
      pushAll(
        zones,
        (opened ? tokens.slice(0, -1) : tokens).map((token) => token.text.replace(/,$/, "")),
      )
    }
    if (zones.length === 0) throw new CorefileError(`line ${line}: a block must begin with the name of a zone`)
    const block = readBlock(lines, at, 1)
    if (!block.isClosed) throw new CorefileError(`line ${line}: the block of "${zones.join(" ")}" is not closed by "}"`)
    servers.push({ zones, directives: block.directives, line })
    at = block.next
  }
  return servers
}

/**
 * Reads directives without braces around them, as in the keys `*.override` of the ConfigMap coredns-custom.
 * @throws CorefileError
 */
export function parseDirectives(text: string): readonly Directive[] {
  const block = readBlock(linesOf(text), 0, 1)
  if (block.isClosed) throw new CorefileError(`line ${block.line}: "}" closes nothing`)
  return block.directives
}

interface Block {
  readonly directives: readonly Directive[]
  /** The line after the block. */
  readonly next: number
  readonly isClosed: boolean
  /** Of the closing brace. */
  readonly line: number
}

function readBlock(lines: readonly (readonly Token[])[], from: number, depth: number): Block {
  const directives: Directive[] = []
  let at = from
  while (at < lines.length) {
    const tokens = lines[at++]!
    const [first] = tokens
    if (first!.text === "}" && !first!.isQuoted) {
      if (tokens.length > 1) throw new CorefileError(`line ${first!.line}: "}" must stand alone`)
      return { directives, next: at, isClosed: true, line: first!.line }
    }
    const hasBlock = opens(tokens)
    const args = tokens.slice(1, hasBlock ? -1 : undefined).map(({ text }) => text)
    if (hasBlock && depth === DEEPEST)
      throw new CorefileError(`line ${first!.line}: blocks go ${DEEPEST} levels deep at most`)
    const inner = hasBlock ? readBlock(lines, at, depth + 1) : undefined
    if (inner?.isClosed === false)
      throw new CorefileError(`line ${first!.line}: the block of "${first!.text}" is not closed by "}"`)
    at = inner?.next ?? at
    directives.push({ name: first!.text, args, options: inner?.directives ?? [], line: first!.line })
  }
  return { directives, next: at, isClosed: false, line: lines.at(-1)?.[0]?.line ?? 1 }
}

function opens(tokens: readonly Token[]): boolean {
  const last = tokens.at(-1)!
  return tokens.length > 1 && last.text === "{" && !last.isQuoted
}

/**
 * Returns the words of each line. Comments and lines without words are left out. A word in quotes may contain spaces.
 */
function linesOf(text: string): readonly (readonly Token[])[] {
  if (text.length > LONGEST) throw new CorefileError(`the text is longer than ${LONGEST} characters`)
  return text
    .split("\n")
    .map((source, index) => {
      const tokens: Token[] = []
      for (const [word, quoted] of source.matchAll(/"((?:[^"\\]|\\.)*)"|#.*|[^\s"#][^\s]*|"/g)) {
        const line = index + 1
        if (word === '"') throw new CorefileError(`line ${line}: a quote is not closed`)
        if (quoted !== undefined) tokens.push({ text: quoted.replaceAll('\\"', '"'), line, isQuoted: true })
        else if (!word.startsWith("#")) tokens.push({ text: word, line, isQuoted: false })
      }
      return tokens
    })
    .filter((tokens) => tokens.length > 0)
}
