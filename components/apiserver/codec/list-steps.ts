import { Buffer } from "node:buffer"
import { yamlInParts } from "../../../pkg/yaml/write.ts"

/** An object whose last field is a list: `head`, with `field` after it. Its items are made as they are encoded. */
export interface ListToEncode<T> {
  readonly head: object
  readonly field: string
  readonly items: readonly T[]
  readonly itemOf: (item: T) => object
}

/** How many items are encoded with each step, some milliseconds of work, and the text in parts of one item each. */
const FORMS = {
  json: { itemsOfStep: 100, partsOf: jsonParts },
  indented: { itemsOfStep: 25, partsOf: indentedParts },
  yaml: { itemsOfStep: 25, partsOf: yamlInParts },
} as const
/** A step that has made more characters than this ends, though it made fewer items. */
const CHARACTERS_OF_STEP = 256 * 1024

/**
 * Encodes a list in steps, each of which yields the next bytes: the caller can do something else in between, or wait
 * for who reads them. All together, with the last ones that are returned, are the bytes of JSON.stringify, of
 * JSON.stringify with an indentation of two and a line feed, or of writeYaml.
 */
export function* encodingList<T>(
  form: keyof typeof FORMS,
  list: ListToEncode<T>,
): Generator<Uint8Array, Uint8Array, undefined> {
  const { itemsOfStep, partsOf } = FORMS[form]
  const parts = partsOf(list)
  let text = ""
  for (let made = 0, inStep = 0; ; made++, inStep++) {
    if ((inStep === itemsOfStep || text.length > CHARACTERS_OF_STEP) && made < list.items.length) {
      yield Buffer.from(text)
      text = ""
      inStep = 0
    }
    const { done, value } = parts.next()
    if (done === true) return Buffer.from(text)
    text += value
  }
}

type Parts = Generator<string, void, undefined>

function* jsonParts<T>({ head, field, items, itemOf }: ListToEncode<T>): Parts {
  const end = "]}"
  let before = JSON.stringify({ ...head, [field]: [] }).slice(0, -end.length)
  for (const item of items) {
    yield before + JSON.stringify(itemOf(item))
    before = ","
  }
  yield items.length === 0 ? before + end : end
}

function* indentedParts<T>({ head, field, items, itemOf }: ListToEncode<T>): Parts {
  const end = "]\n}"
  let before = JSON.stringify({ ...head, [field]: [] }, undefined, 2).slice(0, -end.length)
  for (const item of items) {
    yield `${before}\n    ${JSON.stringify(itemOf(item), undefined, 2).replaceAll("\n", "\n    ")}`
    before = ","
  }
  yield items.length === 0 ? `${before}${end}\n` : `\n  ${end}\n`
}
