/** Splits a text at spaces into lines of at most `length` characters, where its words are no longer. */
export function wrap(text: string, length: number): string[] {
  const lines: string[] = []
  for (const word of text.split(" ")) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > length) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
