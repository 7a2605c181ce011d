import { expect, test } from "bun:test"
import { merged } from "./merge.ts"

const ref = (name: string) => ({ $ref: `#/definitions/${name}` })
const base = {
  swagger: "2.0",
  paths: { "/apis/apps/v1/x": { get: ref("a.Same") } },
  definitions: { "a.Same": { type: "string" }, "a.Other": { type: "string" } },
}

test("a document contributes its paths below the prefix, and the definitions that they need", () => {
  const document = {
    paths: {
      "/apis/w/v1/flunders": { get: { schema: ref("w.List") } },
      "/apis/apps/v1/x": { get: ref("w.Evil") },
      "/api/v1/secrets": { get: ref("w.Evil") },
    },
    definitions: {
      "w.List": { properties: { items: { items: ref("w.Flunder") } } },
      "w.Flunder": { properties: { same: ref("a.Same"), other: ref("a.Other"), again: ref("w.List") } },
      "w.Evil": { type: "object" },
      "a.Same": { type: "string" },
      "a.Other": { type: "integer" },
    },
  }
  expect(merged(base, { document, prefix: "/apis/w/v1/" })).toEqual({
    swagger: "2.0",
    paths: { ...base.paths, "/apis/w/v1/flunders": { get: { schema: ref("w.List") } } },
    definitions: {
      ...base.definitions,
      "w.List": { properties: { items: { items: ref("w.Flunder") } } },
      // that of another shape is renamed
      "w.Flunder": { properties: { same: ref("a.Same"), other: ref("a.Other_v2"), again: ref("w.List") } },
      "a.Other_v2": { type: "integer" },
    },
  })
})

test.each([{}, { paths: [] }, { paths: null, definitions: 3 }, { paths: { "/apis/apps/v1/x": {} } }])(
  "a document without paths below the prefix changes nothing: %j",
  (document) => expect(merged(base, { document, prefix: "/apis/w/v1/" })).toEqual(base),
)
