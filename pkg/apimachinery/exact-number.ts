declare global {
  interface JSON {
    /**
     * JSON text of a number, which JSON.stringify writes as it is. Source: ECMAScript proposal-json-parse-with-source.
     */
    rawJSON(text: string): unknown
  }
}

/**
 * A number of a document that JavaScript would hold or write as another one: 9007199254740993, 1.0, 1e3. It stands in a
 * parsed document until a field's type says what becomes of it; in JSON it is what was written.
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

/** An integer as a number where JavaScript holds it exactly. */
export const exactInteger = (value: bigint): number | ExactNumber =>
  isSafe(value) ? Number(value) : new ExactNumber(String(value))

const isSafe = (value: bigint): boolean =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)

/** A number from its JSON text. */
export function numberFrom(text: string): number | ExactNumber {
  const value = Number(text)
  return String(value) === text ? value : text === "-0" ? 0 : new ExactNumber(text)
}
