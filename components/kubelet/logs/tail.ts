import type { OpenFile } from "../runtime/open-file.ts"

const CHUNK = 64 * 1024
const NEWLINE = 10

/** Where the last lines of a file begin. */
export interface Tail {
  /** In bytes. */
  readonly offset: number
  /** How many of the lines are in an older file. */
  readonly missing: number
}

/**
 * Finds the last `lines` lines of a file by searching for line breaks from its end. Without a number the whole file is
 * meant; all is missing from one that is empty.
 */
export async function tailOf(file: OpenFile, lines = Infinity): Promise<Tail> {
  const size = await file.size()
  if (lines === 0) return { offset: size, missing: 0 }
  if (size === 0 || lines === Infinity) return { offset: 0, missing: size === 0 ? lines : 0 }
  let found = 0
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - CHUNK)
    const chunk = await file.read(start, end - start)
    for (let i = chunk.length - 1; i >= 0; i--) {
      // A line break at the very end belongs to the last line.
      if (chunk[i] !== NEWLINE || start + i === size - 1) continue
      found++
      if (found === lines) return { offset: start + i + 1, missing: 0 }
    }
    end = start
  }
  return { offset: 0, missing: lines - found - 1 }
}
