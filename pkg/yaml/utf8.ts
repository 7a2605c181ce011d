import { YamlError } from "./cursor.ts"

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Decodes bytes as UTF-8. @throws YamlError in go-yaml's words when they are not UTF-8 */
export function textOf(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    throw new YamlError(`yaml: ${problemOf(bytes)}`)
  }
}

/** Returns why bytes are not UTF-8. */
function problemOf(bytes: Uint8Array): string {
  for (let i = 0; i < bytes.length;) {
    const first = bytes[i]!
    const width =
      first < 0x80 ? 1 : first >>> 5 === 0b110 ? 2 : first >>> 4 === 0b1110 ? 3 : first >>> 3 === 0b11110 ? 4 : 0
    if (width === 0) return "invalid leading UTF-8 octet"
    if (i + width > bytes.length) return "incomplete UTF-8 octet sequence"
    let code = width === 1 ? first : first & (0x7f >>> width)
    for (let next = i + 1; next < i + width; next++) {
      if (bytes[next]! >>> 6 !== 0b10) return "invalid trailing UTF-8 octet"
      code = (code << 6) | (bytes[next]! & 0b111111)
    }
    if (code < LEAST_CODE[width]!) return "invalid length of a UTF-8 sequence"
    if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return "invalid Unicode character"
    i += width
  }
  return "invalid leading UTF-8 octet"
}

/** The smallest code that needs this many bytes. */
const LEAST_CODE = [0, 0, 0x80, 0x800, 0x10000]
