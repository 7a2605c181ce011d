const LETTER = /[A-Za-z0-9+/]/

/**
 * Returns where base64 is wrong, as Go counts it; undefined when it is right. Lines may end anywhere. Source: Go
 * encoding/base64 (decodeQuantum).
 */
export function base64Fault(text: string): number | undefined {
  let at = 0
  let filled = 0
  const skipLines = () => {
    while (text[at] === "\n" || text[at] === "\r") at++
  }
  for (; at < text.length; at++) {
    const sign = text[at]!
    if (sign === "\n" || sign === "\r") continue
    if (LETTER.test(sign)) {
      filled = (filled + 1) % 4
      continue
    }
    if (sign !== "=" || filled < 2) return at
    at++
    if (filled === 2) {
      skipLines()
      if (at === text.length) return at
      if (text[at] !== "=") return at - 1
      at++
    }
    skipLines()
    return at < text.length ? at : undefined
  }
  return filled === 0 ? undefined : at - filled
}
