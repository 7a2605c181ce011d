import { expect, test } from "bun:test"
import { StoredObject } from "./stored-object.ts"

const OBJECT = { apiVersion: "v1", kind: "Event", metadata: { name: "b", namespace: "a" } }

test("an object whose content cannot be read is not held: the write that would supersede it fails", () => {
  // given an object whose content cannot be read at first
  let isReadable = false
  const read = () => {
    if (!isReadable) throw new Error("disk I/O error")
    return Buffer.from(JSON.stringify(OBJECT))
  }
  const identity = { key: "/registry/core/events/a/b", revision: 2, created: 2, time: 0, seldomRead: true }
  const stored = new StoredObject(identity, { elsewhere: { read, parse: undefined } }, true)
  expect(() => stored.hold()).toThrow("disk I/O error")
  expect(stored.isHeld).toBe(false)
  // when it can
  isReadable = true
  stored.hold()
  // then it keeps its content, whatever happens elsewhere
  isReadable = false
  expect(stored.isHeld).toBe(true)
  expect(stored.object).toEqual(OBJECT)
})
