import { describe, expect, test } from "bun:test"
import { X509Certificate } from "node:crypto"
import { seededRandom } from "../../pkg/clock/random.ts"
import { newBootstrapToken, parseBootstrapToken } from "../../pkg/api/core/v1/secret/bootstrap-token.ts"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { authorizationOf, credentialOfHeader, formatJoinToken, parseJoinToken, pinnedRoot } from "./join-token.ts"

const NOW = Date.UTC(2026, 0, 1)
const HASH = "ab".repeat(32)
const bootstrapToken = { id: "abcdef", secret: "0123456789abcdef" }

describe("a join token", () => {
  test.each([
    {
      title: "with user and password",
      given: `K10${HASH}::server:pass:word`,
      wants: { caHash: HASH, credential: { user: "server", password: "pass:word" } },
    },
    {
      title: "with a bootstrap token",
      given: `K10${HASH}::abcdef.0123456789abcdef`,
      wants: { caHash: HASH, credential: { bootstrapToken } },
    },
    {
      title: "without a hash, which k3s allows",
      given: "K10::node:secret",
      wants: { credential: { user: "node", password: "secret" } },
    },
    {
      title: "as a password only, which belongs to the given user",
      given: " secret\n",
      wants: { credential: { user: "node", password: "secret" } },
    },
    {
      title: "as a bootstrap token only",
      given: "abcdef.0123456789abcdef",
      wants: { credential: { bootstrapToken } },
    },
    {
      title: "as a password that begins like a complete token",
      given: "K10racks",
      wants: { credential: { user: "node", password: "K10racks" } },
    },
  ])("is parsed $title", ({ given, wants }) => expect(parseJoinToken(given, "node")).toEqual(wants))

  test.each([
    { title: "no characters", given: "  ", wants: "the token is empty" },
    { title: "a short hash", given: "K10abc::node:x", wants: "must have 64 hexadecimal digits, but has 3 characters" },
    { title: "no password", given: `K10${HASH}::node:`, wants: "the token's end must be <user>:<password>" },
    { title: "no user", given: `K10${HASH}:::x`, wants: "the token's end must be <user>:<password>" },
    { title: "two lines", given: "one\ntwo", wants: "it must be one line" },
    { title: "too many characters", given: "x".repeat(5000), wants: "at most 4096" },
  ])("is refused if it has $title", ({ given, wants }) => expect(() => parseJoinToken(given, "node")).toThrow(wants))

  test("is in no error, since it is a secret", () => {
    expect(() => parseJoinToken("K10abc::node:hush-hush", "node")).toThrow(/^(?!.*hush)/)
  })
})

describe("the header of a request", () => {
  test.each([
    { title: "carries a password", given: { user: "node", password: "a:b" } },
    { title: "carries a bootstrap token", given: { bootstrapToken } },
  ])("$title", ({ given }) => expect(credentialOfHeader(authorizationOf(given))).toEqual(given))

  test.each([undefined, "", "Basic", "Basic !!", "Basic bm9jb2xvbg==", "Bearer something-else", "Digest abc"])(
    "shows no credential when it is %p",
    (header) => expect(credentialOfHeader(header)).toBeUndefined(),
  )
})

describe("the hash of a token", () => {
  const { certPem: root } = openClusterPki({ now: () => NOW }).authorities["server-ca"]
  const credential = { user: "server", password: "x" }

  test("selects the root of the cluster among the certificates that a server shows, and no other certificate", () => {
    // given
    const { caHash } = parseJoinToken(formatJoinToken(root, credential), "server")
    const { certPem: other } = openClusterPki({ now: () => NOW }).authorities["server-ca"]
    // then
    expect(caHash).toBe(new X509Certificate(root).fingerprint256.replaceAll(":", "").toLowerCase())
    expect(pinnedRoot(`${other}\n${root}`, caHash!)?.trim()).toBe(root.trim())
    expect(pinnedRoot(other, caHash!)).toBeUndefined()
  })
})

test("a random bootstrap token has the right form, and every letter is equally likely", () => {
  // given
  const random = seededRandom(1)
  const counts = new Map<string, number>()
  // when
  for (let i = 0; i < 2000; i++) {
    const { id, secret } = newBootstrapToken(random)
    expect(parseBootstrapToken(`${id}.${secret}`)).toEqual({ id, secret })
    for (const letter of id + secret) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  }
  // then
  expect(counts.size).toBe(36)
  const expected = (2000 * 22) / 36
  for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(expected / 4)
})
