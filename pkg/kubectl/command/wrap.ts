/** Breaks lines between words so that none is longer than `limit`, unless a word is. A limit of 0 breaks nothing. */
export function wrapWords(text: string, limit: number): string {
  if (limit === 0) return text
  return text
    .split("\n")
    .map((line) => wrapLine(line, limit))
    .join("\n")
}

function wrapLine(line: string, limit: number): string {
  let out = ""
  let width = 0
  for (const [, space = "", word = ""] of line.matchAll(/(\s*)(\S*)/g)) {
    if (word === "") {
      if (width + space.length <= limit) out += space
      continue
    }
    if (width + space.length + word.length > limit && word.length < limit) {
      out += `\n${word}`
      width = word.length
    } else {
      out += space + word
      width += space.length + word.length
    }
  }
  return out
}

/** The width at which help is wrapped on a terminal. Source: kubectl pkg/util/term/term_writer.go. */
export const helpWidth = (columns: number | undefined): number =>
  columns === undefined ? 0 : ([120, 100, 80].find((width) => columns >= width) ?? 0)
