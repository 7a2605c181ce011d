import { expect, test } from "bun:test"
import { decodeProtobuf, encodeProtobuf, openEnvelope } from "../../../apimachinery/protobuf/envelope.ts"
import { decodeObject } from "../../../apimachinery/decoding/decode.ts"
import { CustomResourceDefinition } from "./customresourcedefinition.ts"

const schema = {
  type: "object",
  properties: {
    open: { type: "object", additionalProperties: true },
    closed: { type: "object", additionalProperties: false },
    map: { type: "object", additionalProperties: { type: "string", enum: ["a", "b"], default: "a" } },
    // A definition with these two is refused; it must be refused however it was sent.
    tuple: { type: "array", items: [{ type: "integer" }, { type: "string" }] },
    dependent: { type: "object", dependencies: { a: ["b", "c"], d: { type: "object" } } },
    list: { type: "array", items: { type: "integer", minimum: 0, maximum: 2.5 } },
  },
}
const definition = decodeObject(CustomResourceDefinition, {
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Cluster",
    names: { plural: "things", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
}).object

test("a CustomResourceDefinition is the same after protobuf encoding and decoding", () => {
  const bytes = encodeProtobuf(CustomResourceDefinition.schema, definition, definition)
  const read = decodeProtobuf(CustomResourceDefinition.schema, openEnvelope(bytes).raw)
  const { versions } = read["spec"] as { versions: readonly { schema: { openAPIV3Schema: unknown } }[] }
  expect(versions[0]!.schema.openAPIV3Schema).toEqual(schema)
})
