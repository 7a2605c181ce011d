import { bytesOf, strayByte } from "../go-fmt/go-bytes.ts"
import { isPrintable } from "../go-fmt/quote.ts"

const HTML: Readonly<Record<string, string>> = {
  "\0": "\ufffd",
  '"': "&#34;",
  "'": "&#39;",
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
}

/** Returns a text for HTML. Source: Go text/template HTMLEscapeString. */
export const escapedForHtml = (text: string): string => text.replace(/[\0"'&<>]/g, (sign) => HTML[sign]!)

/** Returns a text for a constant of JavaScript. Source: Go text/template JSEscapeString. */
export const escapedForJavaScript = (text: string): string =>
  text.replace(/[\\'"<>&=\0-\x1f]|[^\0-\x7f]/gu, (sign) => {
    if (sign === "\\" || sign === "'" || sign === '"') return `\\${sign}`
    const code = sign.codePointAt(0)!
    if (code >= 0x80 && (isPrintable(sign) || strayByte(code) !== undefined)) return sign
    return `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`
  })

/** Returns a text for the query of a URL. Source: Go net/url QueryEscape. */
export function escapedForQuery(text: string): string {
  let out = ""
  for (const byte of bytesOf(text)) {
    const sign = String.fromCharCode(byte)
    if (sign === " ") out += "+"
    else out += /[A-Za-z0-9\-_.~]/.test(sign) ? sign : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }
  return out
}
