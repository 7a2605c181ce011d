declare global {
  interface JSON {
    /**
     * Returns a value that JSON.stringify writes as the given text. Source: ECMAScript proposal-json-parse-with-source.
     */
    rawJSON(text: string): unknown
    /** `source` is the text of a number, a string, true, false or null. */
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
  }
}

/**
 * A number in JSON that JavaScript cannot hold exactly, or would write differently: 9007199254740993, 1.0, 1e3. It
 * stays in a parsed document until the type of its field decides how to convert it; JSON.stringify writes its original
 * text.
 */
export class ExactNumber {
  readonly text: string

  /** `text` is a number in JSON. */
  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.text)
  }
}

/** Returns an integer as a number if JavaScript can hold it exactly. */
export const exactInteger = (value: bigint): number | ExactNumber =>
  isSafe(value) ? Number(value) : new ExactNumber(String(value))

const isSafe = (value: bigint): boolean =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)

/** Returns a number from its JSON text. */
export function numberFrom(text: string): number | ExactNumber {
  const value = Number(text)
  return String(value) === text ? value : text === "-0" ? 0 : new ExactNumber(text)
}

/**
 * A reviver of JSON.parse that keeps numbers exactly, and replaces halves of surrogate pairs by U+FFFD, as Go does.
 */
export function exactValue(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value === "string") return value.toWellFormed()
  return typeof value === "number" && source !== undefined ? numberFrom(source) : value
}
