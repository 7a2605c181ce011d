import { Buffer } from "node:buffer"

/** Decodes the value of a header as UTF-8, as Go's servers do: node:http turns each byte into one character. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, "latin1").toString("utf8") : value
const BEYOND_ASCII = /[\x80-\xff]/
