import { describe, expect, test } from "bun:test"
import { decodeObject } from "../decoding/decode.ts"
import { f } from "../fields.ts"
import { memberTexts } from "./json-members.ts"
import { objectJson } from "./object-json.ts"
import { decodeProtobuf, encodeRaw } from "../protobuf/envelope.ts"
import { rawFieldsOf, withRawFields } from "./raw-fields.ts"
import { canonicalJson, RawJson } from "./raw-json.ts"
import { defineResource } from "../resource.ts"

const Note = defineResource(
  { group: "test", version: "v1", kind: "Note", plural: "notes", scope: "Namespaced", doc: "" },
  { data: f.rawExtension(2, ""), revision: f.int64(3, "").printZero() },
)
/** A raw value as a client sends it, and below it as upstream returns it. */
const SENT = String.raw`{ "b" : 1, "a":"<x>&\u003e é \/", "10":1,"9":2, "n":12345678901234567890,  "f":1.0,"e":1E3, "d":1,"d":2 , "l":[1, 2 ] }`
const GIVEN = String.raw`{"b":1,"a":"\u003cx\u003e\u0026\u003e é \/","10":1,"9":2,"n":12345678901234567890,"f":1.0,"e":1E3,"d":1,"d":2,"l":[1,2]}`

describe("raw JSON", () => {
  test("is returned as it was written, except for white space and characters that Go escapes", () => {
    // given an object as the text of a body
    const body = `{"metadata": {"name": "a"}, "data": ${SENT}, "revision": 1}`
    const parsed = withRawFields(JSON.parse(body), body, rawFieldsOf(Note.schema))

    // when it is decoded, and made JSON, and read from the JSON again
    const { object } = decodeObject(Note, parsed)
    const json = objectJson(object)
    const stored = withRawFields(JSON.parse(json), json, rawFieldsOf(Note.schema))

    // then it is the same each time, and in protobuf
    expect(json).toContain(`"data":${GIVEN}`)
    expect(stored).toEqual(object)
    expect(decodeProtobuf(Note.schema, encodeRaw(Note.schema, object))).toMatchObject({ data: object.data })
    expect(object.data?.value).toMatchObject({ b: 1, "10": 1, d: 2 })
  })

  test("from a value has sorted keys, as Go's maps", () => {
    const { object } = decodeObject(Note, { data: { b: [{ z: 1, y: "<" }], 10: 1, 9: null, a: "\u2028" } })
    expect(object.data?.text).toBe(String.raw`{"10":1,"9":null,"a":"\u2028","b":[{"y":"\u003c","z":1}]}`)
    expect(decodeObject(Note, object).object).toBe(object)
    expect(canonicalJson({ a: undefined, b: "\ud800" })).toBe('{"b":"\ufffd"}')
  })

  test("is written as its value by JSON.stringify", () => {
    expect(JSON.stringify({ data: RawJson.from('{"a": 1}') })).toBe('{"data":{"a":1}}')
  })
})

test("the texts of members are found at the top level only, and of a duplicate member the last one", () => {
  const json = String.raw`{"x":{"data":1},"data":"a","k\"":"data","d\u0061ta": [ {"data":2}, "}" ] ,"y":[],"z":1e3}`
  expect([...memberTexts(json, ["data", "y", "z", "none"])]).toEqual([
    ["data", '[ {"data":2}, "}" ]'],
    ["y", "[]"],
    ["z", "1e3"],
  ])
})
