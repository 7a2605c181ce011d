import { Buffer } from "node:buffer"
import { yamlInParts } from "../../../../pkg/yaml/write.ts"

/** The items that are encoded with each step: some milliseconds of work. */
const ITEMS_OF_STEP = 25

/** Encodes `head` with the list `field` in YAML, in steps. Returns the bytes that writeYaml makes of the whole. */
export function* encodingYaml<T>(
  head: object,
  field: string,
  items: readonly T[],
  itemOf: (item: T) => object,
): Generator<undefined, Uint8Array, undefined> {
  const parts: Buffer[] = []
  let before = 0
  for (const part of yamlInParts(head, field, items, itemOf)) {
    parts.push(Buffer.from(part))
    if (++before % ITEMS_OF_STEP === 0) yield
  }
  return Buffer.concat(parts)
}

/**
 * Encodes `head` with the list `field` after it in indented JSON, in steps. Returns the bytes that JSON.stringify makes
 * of the whole with an indentation of two.
 */
export function* encodingIndentedJson<T>(
  head: object,
  field: string,
  items: readonly T[],
  itemOf: (item: T) => object,
): Generator<undefined, Uint8Array, undefined> {
  const whole = JSON.stringify({ ...head, [field]: [] }, undefined, 2)
  if (items.length === 0) return Buffer.from(`${whole}\n`)
  const end = "]\n}"
  const parts = [Buffer.from(whole.slice(0, -end.length))]
  for (let from = 0; from < items.length; from += ITEMS_OF_STEP) {
    if (from > 0) yield
    const texts = items
      .slice(from, from + ITEMS_OF_STEP)
      .map((item) => `\n    ${JSON.stringify(itemOf(item), undefined, 2).replaceAll("\n", "\n    ")}`)
    parts.push(Buffer.from((from > 0 ? "," : "") + texts.join(",")))
  }
  return Buffer.concat([...parts, Buffer.from("\n  ]\n}\n")])
}
