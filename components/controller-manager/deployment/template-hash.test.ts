import { expect, test } from "bun:test"
import { RawJson } from "../../../pkg/apimachinery/json/raw-json.ts"
import { revisionHash } from "./template-hash.ts"

/** The expectations are what Go's hash/fnv New32 and upstream's SafeEncodeString give. */
test.each([
  { data: { a: 1 }, hash: "d55c4ff5f" },
  { data: { spec: { template: { $patch: "replace" } } }, hash: "589f85db5b" },
])("the hash of a StatefulSet's revision is upstream's: $hash", ({ data, hash }) => {
  expect(revisionHash(RawJson.of(data), 0)).toBe(hash)
})
