import { Buffer } from "node:buffer"

/** The items that are encoded with each step: some milliseconds of work. */
const ITEMS_OF_STEP = 100

/**
 * Encodes in JSON an object whose last field is a list: `head`, with `field` after it. Some items are made and encoded
 * with each step, so that the caller can do something else in between. Returns the bytes at the end, which are those of
 * JSON.stringify.
 */
export function* encodingJson<T>(
  head: object,
  field: string,
  items: readonly T[],
  itemOf: (item: T) => object,
): Generator<undefined, Uint8Array, undefined> {
  const end = "]}"
  const parts = [Buffer.from(JSON.stringify({ ...head, [field]: [] }).slice(0, -end.length))]
  for (let from = 0; from < items.length; from += ITEMS_OF_STEP) {
    if (from > 0) yield
    const texts = items.slice(from, from + ITEMS_OF_STEP).map((item) => JSON.stringify(itemOf(item)))
    parts.push(Buffer.from((from > 0 ? "," : "") + texts.join(",")))
  }
  return Buffer.concat([...parts, Buffer.from(end)])
}
