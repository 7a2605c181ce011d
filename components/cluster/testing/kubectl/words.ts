import { TestClusterError } from "../caller.ts"

/** Splits a command line as a shell does: at spaces, with quotes and backslashes. @throws TestClusterError */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length; at++) {
    const sign = line[at]!
    if (sign === "'" || sign === '"') {
      const end = endOfQuote(line, at)
      const inside = line.slice(at + 1, end)
      word = (word ?? "") + (sign === '"' ? inside.replaceAll(/\\(["\\$`])/g, "$1") : inside)
      at = end
    } else if (sign === "\\" && at + 1 < line.length) word = (word ?? "") + line[++at]!
    else if (/\s/.test(sign)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? "") + sign
  }
  return word === undefined ? words : [...words, word]
}

function endOfQuote(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === line[start]) return at
    if (line[start] === '"' && line[at] === "\\") at++
  }
  throw new TestClusterError(`kubectl got a quote without an end: ${line}`)
}
