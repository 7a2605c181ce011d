/**
 * Returns the original text of some members of a JSON object, by name; of a duplicate member the last. The text must be
 * valid JSON. For fields whose exact text matters, which JSON.parse does not keep.
 */
export function memberTexts(json: string, names: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  let depth = 0
  /** The member of the outermost object that is being read, and where its value begins. */
  let name: string | undefined
  let from = 0
  for (let i = 0; i < json.length; i++) {
    switch (json.charCodeAt(i)) {
      case QUOTE: {
        const end = endOfString(json, i)
        if (depth === 1 && name === undefined) {
          name = JSON.parse(json.slice(i, end + 1)) as string
          from = json.indexOf(":", end) + 1
          i = from - 1
        } else i = end
        break
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        break
      case COMMA:
        if (depth === 1) end(i)
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (depth-- === 1) end(i)
    }
  }
  return found

  function end(to: number): void {
    if (name !== undefined && names.includes(name)) found.set(name, json.slice(from, to).trim())
    name = undefined
  }
}

const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/**
 * Returns the index of the quote that ends the string beginning at `start`; the length of the text when there is none.
 */
export function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end > 0; end = json.indexOf('"', end + 1)) {
    let slashes = 0
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
  }
  return json.length
}
