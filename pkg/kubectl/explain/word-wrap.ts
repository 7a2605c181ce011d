/**
 * Returns a text with line breaks in place of white space, so that lines have at most `limit` characters where words
 * are short enough. Source of the behaviour: github.com/mitchellh/go-wordwrap.
 */
export function wordWrap(text: string, limit: number): string {
  let out = ""
  /** The characters of the line so far, and white space and a word that are not on it yet. */
  let [length, space, word] = [0, "", ""]
  let [spaceLength, wordLength] = [0, 0]
  const putWord = () => {
    length += spaceLength + wordLength
    out += space + word
    space = word = ""
    spaceLength = wordLength = 0
  }
  for (const sign of text) {
    if (sign === "\n") {
      if (wordLength > 0) putWord()
      else if (length + spaceLength <= limit) out += space
      space = ""
      spaceLength = 0
      out += sign
      length = 0
    } else if (SPACE.test(sign)) {
      if (spaceLength === 0 || wordLength > 0) putWord()
      space += sign
      spaceLength++
    } else {
      word += sign
      wordLength++
      if (length + wordLength + spaceLength > limit && wordLength < limit) {
        out += "\n"
        length = 0
        space = ""
        spaceLength = 0
      }
    }
  }
  return wordLength > 0 || length + spaceLength <= limit ? out + space + word : out
}

/** White space at which a line can be broken: not at U+00A0. */
const SPACE = /[\t\n\v\f\r \u0085\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

/** Returns a text whose lines begin with so many spaces, empty lines too. */
export function indented(text: string, spaces: number): string {
  const indent = " ".repeat(spaces)
  return indent + text.replaceAll("\n", `\n${indent}`)
}
