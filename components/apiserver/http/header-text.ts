import { Buffer } from "node:buffer"

/**
 * The value of a header as text: node:http makes one character of each byte, while clients send names in UTF-8, which
 * Go's servers take as it comes.
 */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, "latin1").toString("utf8") : value
const BEYOND_ASCII = /[\x80-\xff]/
