/**
 * Documents that are made in steps: with thousands of custom resources a document takes seconds, in which the server
 * has others to serve.
 */

/** Makes something; between two steps, of some milliseconds each, the caller can do something else. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Runs all steps at once. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Objects with more fields than this are encoded in pieces of as many. */
const FIELDS_OF_STEP = 25

/** Encodes a value of JSON in steps. `piece` is called with the bytes in their order: those of JSON.stringify. */
export function* encoding(value: object, piece: (bytes: Uint8Array) => void): Steps<void> {
  let text = ""
  const flush = (): void => {
    piece(new TextEncoder().encode(text))
    text = ""
  }
  function* write(of: unknown): Steps<void> {
    if (typeof of !== "object" || of === null || Array.isArray(of)) {
      text += JSON.stringify(of)
      return
    }
    const fields = Object.entries(of).filter(([, field]) => field !== undefined)
    text += "{"
    let left = FIELDS_OF_STEP
    for (const [i, [name, field]] of fields.entries()) {
      text += `${i === 0 ? "" : ","}${JSON.stringify(name)}:`
      if (fields.length <= FIELDS_OF_STEP && hasMany(field)) yield* write(field)
      else text += JSON.stringify(field)
      if (--left > 0) continue
      left = FIELDS_OF_STEP
      flush()
      yield
    }
    text += "}"
  }
  yield* write(value)
  flush()
}

/** Whether a value is, or has as a field, an object of many fields: one that is encoded in pieces. */
const hasMany = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  (Object.keys(value).length > FIELDS_OF_STEP || Object.values(value).some((field: unknown) => isLarge(field)))

const isLarge = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > FIELDS_OF_STEP
