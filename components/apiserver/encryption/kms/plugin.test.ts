import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import { CriError } from "../../../../pkg/cri/errors.ts"
import { silent } from "../../../../pkg/log/log.ts"
import { EncryptedObject } from "./encrypted-object.ts"
import { FakeKms } from "./fake-kms.fixtures.ts"
import { KmsPlugin } from "./plugin.ts"
import { derivedKey } from "./seed-cipher.ts"

const PLACE = { key: "/registry/core/secrets/default/a", revision: 5 }
const TEXT = Buffer.from('{"data":"hunter2"}')

/** Returns a value as the database holds it. */
const onDisk = (value: Uint8Array) => Buffer.concat([Buffer.from("k8s:enc:kms:v2:vault:"), value])

/** A server's plugin, of a KMS that other servers may have had before. */
function pluginOf(kms: FakeKms, clock = new VirtualClock(0), seed = 1) {
  const plugin = new KmsPlugin({
    name: "vault",
    channel: kms.channel,
    timeoutMs: 3000,
    clock,
    random: seededRandom(seed),
    log: silent,
  })
  return { plugin, clock }
}

test("a key is derived from a seed as HKDF's expansion does it", () => {
  // Source: RFC 5869, A.1; the first 32 bytes.
  const seed = Buffer.from("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5", "hex")
  const key = derivedKey(seed, Buffer.from("f0f1f2f3f4f5f6f7f8f9", "hex"))
  expect(key.toString("hex")).toBe("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf")
})

describe("a KMS plugin that works", () => {
  test("never receives a value, and is called once a minute", async () => {
    const kms = new FakeKms()
    const { plugin, clock } = pluginOf(kms)
    await plugin.start()
    for (let i = 0; i < 100; i++) plugin.open(plugin.seal(TEXT, PLACE), PLACE)
    expect(kms.calls).toEqual(["Status", "Encrypt"])
    await clock.advance(180_000)
    expect(kms.calls).toEqual(["Status", "Encrypt", "Status", "Status", "Status"])
    expect(plugin.problem).toBeUndefined()
    plugin.close()
  })

  test("is called by a health check if its last answer is older than 20 s", async () => {
    const kms = new FakeKms()
    const { plugin, clock } = pluginOf(kms)
    await plugin.start()
    kms.calls.length = 0
    await clock.advance(19_000)
    expect([plugin.problem, plugin.problem]).toEqual([undefined, undefined])
    expect(kms.calls).toEqual([])
    kms.fault = () => new CriError("Unavailable", "Status", "No connection established")
    await clock.advance(2000)
    expect([plugin.problem, plugin.problem]).toEqual([undefined, undefined])
    await clock.settle()
    expect(kms.calls).toEqual(["Status"])
    expect(plugin.problem).toContain("code = Unavailable")
    plugin.close()
  })

  test("makes the server write Kubernetes' EncryptedObject with the id of the key and the encrypted seed", async () => {
    const kms = new FakeKms()
    const { plugin } = pluginOf(kms)
    await plugin.start()
    const value = plugin.seal(TEXT, PLACE)
    const object = EncryptedObject.decode(value)
    expect(object).toMatchObject({ keyId: "key-1", encryptedDEKSourceType: 1 })
    expect(Buffer.from(value).includes("hunter2")).toBe(false)
    expect(Buffer.from(object.annotations["kms.example.com"]!).toString()).toBe("note")
    plugin.close()
  })

  test("lets the server decrypt values from before its restart, which are stale once the key has changed", async () => {
    // given a value of an earlier server
    const kms = new FakeKms()
    const before = pluginOf(kms)
    await before.plugin.start()
    const value = before.plugin.seal(TEXT, PLACE)
    before.plugin.close()
    // when the server starts again
    const { plugin, clock } = pluginOf(kms, new VirtualClock(0), 2)
    await plugin.start()
    plugin.note(onDisk(value))
    await plugin.learn()
    // then
    expect(plugin.open(value, PLACE)).toEqual({ json: TEXT, stale: false })
    kms.keyId = "key-2"
    await clock.advance(60_000)
    expect(plugin.open(value, PLACE)).toEqual({ json: TEXT, stale: true })
    expect(plugin.open(plugin.seal(TEXT, PLACE), PLACE).stale).toBe(false)
    expect(() => plugin.open(value, { ...PLACE, key: `${PLACE.key}b` })).toThrow("message authentication failed")
    plugin.close()
  })
})

describe("a KMS plugin that cannot be reached", () => {
  test("lets the server start; its values can be read when it can be reached again", async () => {
    // given
    const kms = new FakeKms()
    const before = pluginOf(kms)
    await before.plugin.start()
    const value = before.plugin.seal(TEXT, PLACE)
    before.plugin.close()
    // when
    kms.fault = () => new CriError("Unavailable", "Status", "No connection established")
    const { plugin, clock } = pluginOf(kms, new VirtualClock(0), 2)
    await plugin.start()
    plugin.note(onDisk(value))
    await plugin.learn()
    // then
    expect(plugin.problem).toBe(
      "failed to perform status section of the healthz check for KMS Provider vault, error: rpc error: " +
        "code = Unavailable desc = No connection established",
    )
    expect(() => plugin.open(value, PLACE)).toThrow("failed to decrypt DEK, error: rpc error: code = Unavailable")
    expect(() => plugin.seal(TEXT, PLACE)).toThrow("got unexpected nil transformer")
    // and when it comes
    kms.fault = undefined
    await clock.advance(10_000)
    expect(plugin.problem).toBeUndefined()
    expect(plugin.open(value, PLACE).json).toEqual(TEXT)
    plugin.close()
  })

  test("stops writes after three minutes, but no reads", async () => {
    const kms = new FakeKms()
    const { plugin, clock } = pluginOf(kms)
    await plugin.start()
    const value = plugin.seal(TEXT, PLACE)
    kms.fault = () => new CriError("DeadlineExceeded", "Status", "Deadline exceeded after 3s")
    await clock.advance(179_000)
    expect(plugin.open(plugin.seal(TEXT, PLACE), PLACE).json).toEqual(TEXT)
    await clock.advance(2000)
    expect(() => plugin.seal(TEXT, PLACE)).toThrow(/^encryptedDEKSource with keyID hash "sha256:.*" expired at .*Z \(/)
    expect(plugin.open(value, PLACE).json).toEqual(TEXT)
    kms.fault = undefined
    await clock.advance(10_000)
    expect(plugin.open(plugin.seal(TEXT, PLACE), PLACE).json).toEqual(TEXT)
    plugin.close()
  })

  test("is tried for one round of seeds only, however many seeds the store has", async () => {
    const kms = new FakeKms()
    const values: Uint8Array[] = []
    for (let i = 0; i < 40; i++) {
      const { plugin } = pluginOf(kms, new VirtualClock(0), i)
      await plugin.start()
      values.push(plugin.seal(TEXT, PLACE))
      plugin.close()
    }
    const { plugin } = pluginOf(kms, new VirtualClock(0), 100)
    await plugin.start()
    values.forEach((value) => plugin.note(onDisk(value)))
    kms.calls.length = 0
    kms.fault = () => new CriError("DeadlineExceeded", "Decrypt", "Deadline exceeded after 3s")
    await plugin.learn()
    expect(kms.calls).toHaveLength(8)
    kms.fault = undefined
    await plugin.learn()
    for (const value of values) expect(plugin.open(value, PLACE).json).toEqual(TEXT)
    plugin.close()
  })
})

test.each([
  { title: "an unhealthy status", status: { healthz: "sealed" }, wants: "got unexpected healthz status: sealed" },
  { title: "another API version", status: { version: "v1" }, wants: "expected KMSv2 API version v2, got v1" },
  { title: "no key", status: { keyId: "" }, wants: `got invalid KMSv2 KeyID hash "": keyID is empty` },
  {
    title: "a key id that is too long",
    status: { keyId: "k".repeat(1025) },
    wants: "keyID is 1025 bytes, which exceeds the max size of 1024",
  },
  {
    title: "another key id than in its status",
    encrypted: { keyId: "other" },
    wants: "failed to rotate DEK: statusKeyIDHash=",
  },
  {
    title: "an empty seed",
    encrypted: { ciphertext: new Uint8Array() },
    wants: "failed to validate encrypted DEK source: encrypted DEK source is empty",
  },
  {
    title: "a seed that is too large",
    encrypted: { ciphertext: new Uint8Array(5000) },
    wants: "encrypted DEK source is 5000 bytes, which exceeds the max size of 1024",
  },
  {
    title: "an annotation without a domain",
    encrypted: { annotations: { note: new Uint8Array(1) } },
    wants: 'failed to validate annotations: annotations: Invalid value: "note"',
  },
  {
    title: "annotations that are too large",
    encrypted: { annotations: { "a.example.com": new Uint8Array(40_000) } },
    wants: "which exceeds the max size of 32768",
  },
])(
  "a plugin that answers with $title is unhealthy, and the server keeps serving",
  async ({ status, encrypted, wants }) => {
    const kms = new FakeKms()
    Object.assign(kms, { status: status ?? {}, encrypted: encrypted ?? {} })
    const { plugin } = pluginOf(kms)
    await plugin.start()
    expect(plugin.problem).toContain(wants)
    expect(plugin.problem!.length).toBeLessThan(2000)
    // As upstream: a key is a key, whatever else the plugin says of itself.
    if (status !== undefined && "keyId" in status === false)
      expect(plugin.seal(TEXT, PLACE).length).toBeGreaterThan(100)
    else expect(() => plugin.seal(TEXT, PLACE)).toThrow("got unexpected nil transformer")
    plugin.close()
  },
)

test("a plugin that decrypts to another seed is detected when the value is read", async () => {
  const kms = new FakeKms()
  const before = pluginOf(kms)
  await before.plugin.start()
  const value = before.plugin.seal(TEXT, PLACE)
  before.plugin.close()
  for (const [plaintext, wants] of [
    [new Uint8Array(32), "message authentication failed"],
    [new Uint8Array(5), "failed to decrypt DEK, error: invalid seed length 5 used for key generation"],
  ] as const) {
    kms.decrypted = { plaintext }
    const { plugin } = pluginOf(kms, new VirtualClock(0), 2)
    await plugin.start()
    plugin.note(onDisk(value))
    await plugin.learn()
    expect(() => plugin.open(value, PLACE)).toThrow(wants)
    plugin.close()
  }
})
