import { describe, expect, test } from "bun:test"
import { createDecipheriv } from "node:crypto"
import { IDENTITY } from "../../../pkg/storage/value-transformer.ts"
import { PROVIDERS, secret, transformerFor } from "./encryption.fixtures.ts"

const KEY = "/registry/core/secrets/default/a"
const PLACE = { key: KEY, revision: 12 }
const JSON_TEXT = Buffer.from('{"data":{"password":"aHVudGVyMg=="}}')
const key = (name: string, seed = 1) => ({ name, secret: secret(32, seed) })

describe.each(PROVIDERS)("%s", (provider) => {
  const one = () => transformerFor([{ [provider]: { keys: [key("key1")] } }])

  test("writes Kubernetes' prefix with the name of the key, and no readable text", async () => {
    const { seal } = await one()
    const value = Buffer.from(seal(JSON_TEXT, PLACE))
    expect(value.toString("latin1")).toStartWith(`k8s:enc:${provider}:v1:key1:`)
    expect(value.includes("password")).toBe(false)
    expect(Buffer.from(seal(JSON_TEXT, PLACE))).not.toEqual(value)
  })

  test("decrypts a value only under the key of the store that it was encrypted for", async () => {
    const { seal, open } = await one()
    const value = seal(JSON_TEXT, PLACE)
    expect(open(value, PLACE)).toEqual({ json: JSON_TEXT, stale: false })
    expect(() => open(value, { ...PLACE, key: `${KEY}b` })).toThrow()
    expect(() => open(value, { ...PLACE, revision: 11 })).toThrow("was not written as revision 11 of this key")
  })

  test("decrypts values of every key in the configuration, and reports those of all but the first key as stale", async () => {
    const old = await transformerFor([{ [provider]: { keys: [key("old", 2)] } }])
    const now = await transformerFor([{ [provider]: { keys: [key("new", 3), key("old", 2)] } }, { identity: {} }])
    expect(now.open(old.seal(JSON_TEXT, PLACE), PLACE)).toEqual({ json: JSON_TEXT, stale: true })
    expect(now.open(JSON_TEXT, PLACE)).toEqual({ json: JSON_TEXT, stale: true })
    expect(now.open(now.seal(JSON_TEXT, PLACE), PLACE).stale).toBe(false)
  })

  test("reports a wrong key of the same name, a missing key and a truncated value with different messages", async () => {
    const { seal } = await one()
    const value = seal(JSON_TEXT, PLACE)
    const wrong = await transformerFor([{ [provider]: { keys: [key("key1", 9)] } }])
    const other = await transformerFor([{ [provider]: { keys: [key("key2", 1)] } }])
    expect(() => wrong.open(value, PLACE)).toThrow(
      /message authentication failed|invalid padding|not encrypted with this key|not written as/,
    )
    expect(() => other.open(value, PLACE)).toThrow("no matching key was found for the provided")
    expect(() => wrong.open(value.subarray(0, 30), PLACE)).toThrow("shorter than the required size")
    expect(() => IDENTITY.open(value, PLACE)).toThrow("identity transformer tried to read encrypted data")
  })
})

// Nothing authenticates AES-CBC.
test.each(["aesgcm", "secretbox"])("%s detects a change of any byte", async (provider) => {
  const { seal, open } = await transformerFor([{ [provider]: { keys: [key("key1")] } }])
  const value = Buffer.from(seal(JSON_TEXT, PLACE))
  for (const [i, octet] of value.entries()) {
    const changed = Buffer.from(value)
    changed[i] = octet ^ 1
    expect(() => open(changed, PLACE)).toThrow()
  }
})

test("aescbc is AES-CBC with PKCS #7 padding, so that other programs can decrypt it", async () => {
  const { seal } = await transformerFor([{ aescbc: { keys: [key("k")] } }])
  const value = Buffer.from(seal(JSON_TEXT, PLACE)).subarray("k8s:enc:aescbc:v1:k:".length)
  const decipher = createDecipheriv("aes-256-cbc", Buffer.from(secret(32), "base64"), value.subarray(0, 16))
  const plain = Buffer.concat([decipher.update(value.subarray(16)), decipher.final()]).toString()
  expect(plain).toBe(`${KEY}@12\n${JSON_TEXT.toString()}`)
})

test.each([
  { title: "one kind", resources: ["secrets"], sealed: ["core/secrets"] },
  { title: "a group", resources: ["*.apps"], sealed: ["apps/deployments"] },
  { title: "the core group", resources: ["*."], sealed: ["core/secrets", "core/events"] },
  { title: "a custom kind", resources: ["pandas.example.com"], sealed: ["example.com/pandas"] },
  {
    title: "everything",
    resources: ["*.*"],
    sealed: ["core/secrets", "core/events", "apps/deployments", "example.com/pandas"],
  },
])("a rule for $title encrypts only those resources", async ({ resources, sealed }) => {
  const { seal } = await transformerFor([{ aesgcm: { keys: [key("k")] } }], { resources })
  const kinds = ["core/secrets", "core/events", "apps/deployments", "example.com/pandas"]
  const isSealed = (kind: string) =>
    Buffer.from(seal(JSON_TEXT, { key: `/registry/${kind}/default/a`, revision: 1 }))
      .toString()
      .startsWith("k8s:enc:")
  expect(kinds.filter(isSealed)).toEqual([...sealed])
})
