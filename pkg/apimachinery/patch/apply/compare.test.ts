import { expect, test } from "bun:test"
import { ConfigMap } from "../../../api/core/v1/configmap.ts"
import { compare } from "./compare.ts"
import { haveSameFields } from "./new-fields.ts"
import { shapeOf } from "./shape.ts"

const shape = shapeOf(ConfigMap.schema)
const withData = (key: string): object => JSON.parse(`{"data":{"${key}":"1"}}`) as object

test.each(["a", "toString", "constructor", "hasOwnProperty", "__proto__"])(
  "a key %s that takes the place of another one is added, and the other one is removed",
  (key) => {
    const [before, after] = [withData("x"), withData(key)]
    const [old, now] = [{ "f:data": { "f:x": {} } }, { "f:data": { [`f:${key}`]: {} } }]
    expect(compare(shape, before, after)).toEqual({ changed: now, removed: old })
    expect(compare(shape, after, before)).toEqual({ changed: old, removed: now })
    expect([haveSameFields(before, after), haveSameFields(after, before)]).toEqual([false, false])
    expect(haveSameFields(after, withData(key))).toBe(true)
  },
)
