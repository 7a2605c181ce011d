/** What a compiled pattern takes: one for each instruction of its program and for the work on its classes. */
export interface ProgramSize {
  readonly size: number
  /** The repetition that makes the product of nested counts larger than Go allows, such as `{100}`. */
  readonly invalidRepeat?: string
}

/** The largest product of nested counts. Source: Go's regexp/syntax repeatIsValid. */
const MOST_REPEATS = 1000
/** A class of Unicode, such as `\pL`, is hundreds of ranges; it takes as long to read as so many instructions. */
const UNICODE_CLASS = 100
/** Code points of a range whose other cases are looked up in the time of one instruction. */
const FOLDED = 64

interface Piece {
  readonly size: number
  /** The largest product of nested counts. */
  readonly repeats: number
}
const ONE: Piece = { size: 1, repeats: 1 }

/**
 * Returns what a pattern takes when it is compiled, from one look at its text: never less than its program has
 * instructions. Source of the syntax and of the sizes: Go's regexp/syntax Parse and calcSize.
 */
export function programSize(source: string): ProgramSize {
  const isFolding = /\(\?[a-zA-Z]*i/.test(source)
  const lastNamed = source.lastIndexOf(":]")
  /** The open groups, the innermost last. */
  const open: { size: number; repeats: number }[] = [{ size: 0, repeats: 1 }]
  let last = ONE
  let classes = 0
  let invalidRepeat: string | undefined
  const add = (piece: Piece) => {
    const group = open.at(-1)!
    group.size += piece.size
    group.repeats = Math.max(group.repeats, piece.repeats)
    last = piece
  }
  let i = 0
  while (i < source.length) {
    const character = source[i]!
    if (character === "\\") {
      const next = source[i + 1]
      if (next === "Q") {
        const end = source.indexOf("\\E", i + 2)
        const length = (end < 0 ? source.length : end) - i - 2
        // An empty quotation is nothing: a repetition after it is one of what stands before.
        if (length > 0) {
          add({ size: length, repeats: 1 })
          last = ONE
        }
        i = end < 0 ? source.length : end + 2
      } else {
        if (next === "p" || next === "P") classes += UNICODE_CLASS
        add(ONE)
        i = afterEscape(source, i)
      }
    } else if (character === "[") {
      const found = readClass(source, i, lastNamed, isFolding)
      classes += found.work
      add(ONE)
      i = found.end
    } else if (character === "(") {
      const [flags] = /^\(\?[a-zA-Z-]*\)/.exec(source.slice(i, i + 32)) ?? []
      if (flags === undefined) {
        open.push({ size: 2, repeats: 1 })
        last = ONE
      }
      i += flags?.length ?? 1
    } else if (character === ")") {
      if (open.length > 1) {
        const { size, repeats } = open.pop()!
        add({ size: Math.max(size, 3), repeats })
      }
      i++
    } else if (character === "{") {
      const [text, least = "", comma, most = ""] = /^\{(\d+)(?:(,)(\d*))?\}/.exec(source.slice(i, i + 32)) ?? []
      if (text === undefined) add(ONE)
      else {
        const times = Math.max(Number(least), Number(most), 1)
        const repeats = times * last.repeats
        if (repeats > MOST_REPEATS) invalidRepeat ??= text
        // Each optional one has an instruction of its own; x{2,} is one x more, or a jump.
        const jumps = comma === undefined ? 0 : most === "" ? 2 : Math.max(Number(most) - Number(least), 0)
        const before = last
        add({ size: before.size * (times - 1) + jumps, repeats })
        last = { size: before.size * times + jumps, repeats }
      }
      i += text?.length ?? 1
    } else if (character === "|") {
      add({ size: 2, repeats: 1 })
      i++
    } else if ("*+?".includes(character)) {
      const { repeats } = last
      add({ size: 2, repeats })
      i++
    } else {
      add(ONE)
      i++
    }
  }
  // The empty pattern has three instructions.
  const size = open.reduce((sum, group) => sum + group.size, classes + 3)
  return invalidRepeat === undefined ? { size } : { size, invalidRepeat }
}

/** Returns the index after an escape: `\d`, `\pL`, `\p{Greek}`, `\x{1F600}`. */
function afterEscape(source: string, start: number): number {
  const next = source[start + 1]
  if (next !== "p" && next !== "P" && next !== "x") return start + 2
  if (source[start + 2] !== "{") return start + (next === "x" ? 2 : 3)
  const end = source.indexOf("}", start + 3)
  return end < 0 ? source.length : end + 1
}

/** Reads a class such as `[^]a-z[:digit:]\pL]`; returns the index after it, and the work on its members. */
function readClass(
  source: string,
  start: number,
  lastNamed: number,
  isFolding: boolean,
): { readonly end: number; readonly work: number } {
  let work = 0
  const first = source[start + 1] === "^" ? start + 2 : start + 1
  let i = first
  while (i < source.length && (source[i] !== "]" || i === first)) {
    work++
    const named = lastNamed >= i + 2 && source.startsWith("[:", i) ? source.indexOf(":]", i + 2) : -1
    if (named >= 0) i = named + 2
    else if (/^\\[pP]/.test(source.slice(i, i + 2))) {
      work += UNICODE_CLASS
      i = afterEscape(source, i)
    } else if (/^\\[dDsSwW]/.test(source.slice(i, i + 2))) i += 2
    else {
      const low = classMember(source, i)
      i = low.end
      if (source[i] !== "-" || source[i + 1] === "]" || i + 1 >= source.length) continue
      const high = classMember(source, i + 1)
      i = high.end
      if (isFolding) work += Math.max(high.code - low.code, 0) / FOLDED
    }
  }
  return { end: i + 1, work: Math.ceil(work) }
}

function classMember(source: string, at: number): { readonly end: number; readonly code: number } {
  const code = source.codePointAt(at) ?? 0
  if (source[at] !== "\\") return { end: at + (code > 0xffff ? 2 : 1), code }
  const [escape, braced, plain, octal] =
    /^\\(?:x\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|([0-7]{1,3}))/.exec(source.slice(at, at + 32)) ?? []
  const value = octal === undefined ? Number.parseInt(braced ?? plain ?? "0", 16) : Number.parseInt(octal, 8)
  return { end: at + (escape?.length ?? 2), code: Math.min(value, 0x10ffff) }
}
