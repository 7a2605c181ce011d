import { afterAll, expect, test } from "bun:test"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { newSigningKey } from "../../../pkg/jwt/signing-key.ts"
import { openServingFiles } from "../../../components/apiserver/serving/serving.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { serviceAccountsOf } from "./service-account-flags.ts"

const dir = mkdtempSync(join(tmpdir(), "k3ts-service-accounts-"))
afterAll(() => rmSync(dir, { recursive: true }))
const fileOf = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}
const rsa = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
})
const earlier = newSigningKey()
const privateFile = fileOf("sa.key", rsa.privateKey)
const publicFile = fileOf("earlier.pub", earlier.publicKey.export({ type: "spki", format: "pem" }).toString())

const NONE = {
  "service-account-signing-key-file": undefined,
  "service-account-key-file": [],
  "service-account-jwks-uri": undefined,
  "service-account-max-token-expiration": undefined,
  "service-account-extend-token-expiration": true,
}
const given = (flags: Partial<Parameters<typeof serviceAccountsOf>[0]>) =>
  serviceAccountsOf({ ...NONE, ...flags }).serviceAccounts
const opened = (serviceAccounts: ReturnType<typeof given>) =>
  openServingFiles({
    dir: undefined,
    advertiseAddress: "192.0.2.1",
    tlsSans: [],
    serviceAddresses: [],
    clusterDomain: "cluster.local",
    now: () => Date.now(),
    random: systemRandom,
    serviceAccounts,
  })

test("a given key signs tokens, and beside it the given keys verify them, and no other", () => {
  const files = opened(
    given({ "service-account-signing-key-file": privateFile, "service-account-key-file": [privateFile, publicFile] }),
  )
  expect(files.signingKey.algorithm).toBe("RS256")
  expect(new Set(files.verifyingKeys?.map(({ keyId }) => keyId))).toEqual(
    new Set([files.signingKey.keyId, earlier.keyId]),
  )
})

test("without a key that signs, the cluster's own signs, and the given ones verify too", () => {
  const files = opened(given({ "service-account-key-file": [publicFile] }))
  expect(files.verifyingKeys?.map(({ keyId }) => keyId)).toEqual([files.signingKey.keyId, earlier.keyId])
})

test("keys of several files verify, and of a file with several, whatever their types", () => {
  const key = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve })
  const [p384, p521] = [key("P-384"), key("P-521")]
  const publicPem = p384.publicKey.export({ type: "spki", format: "pem" }).toString()
  const both = fileOf("both.pub", `${publicPem}\n${rsa.publicKey}`)
  const signing = fileOf("p521.key", p521.privateKey.export({ type: "sec1", format: "pem" }).toString())
  const files = opened(
    given({ "service-account-signing-key-file": signing, "service-account-key-file": [both, publicFile] }),
  )
  expect(files.signingKey.algorithm).toBe("ES512")
  expect(files.verifyingKeys?.map(({ algorithm }) => algorithm)).toEqual(["ES512", "ES384", "RS256", "ES256"])
})

const other = generateKeyPairSync("ec", {
  namedCurve: "secp224r1",
  privateKeyEncoding: { type: "sec1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
})
const broken = rsa.publicKey.replace(/^MII.*$/m, "AAAA")
test.each([
  [{ "service-account-signing-key-file": fileOf("other", other.privateKey) }, "current type is secp224r1"],
  [{ "service-account-key-file": [fileOf("other.pub", other.publicKey)] }, "expected P-256, P-384, P-521, RSA or"],
  [
    { "service-account-key-file": [fileOf("broken.pub", `${rsa.publicKey}${broken}`)] },
    "broken.pub cannot be used: the key at place 2 of it cannot be read: expected P-256",
  ],
  [{ "service-account-signing-key-file": publicFile }, "--service-account-signing-key-file"],
  [{ "service-account-signing-key-file": join(dir, "none") }, "cannot be used"],
  [{ "service-account-key-file": [fileOf("text", "no key")] }, "it holds no key in PEM"],
])("a file without a key is refused, and named: %p", (flags, message) => {
  expect(() => given(flags)).toThrow(message)
})
