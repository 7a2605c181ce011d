import { describe, expect, test } from "bun:test"
import { secretOfToken, type BootstrapToken } from "../../../pkg/api/core/v1/secret/bootstrap-token.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { createBootstrapTokens } from "./bootstrap-token.ts"

const NOW = Date.UTC(2026, 0, 1)
const TOKEN: BootstrapToken = {
  id: "abcdef",
  secret: "0123456789abcdef",
  usages: ["authentication"],
  groups: ["system:bootstrappers:workers"],
  expires: NOW + 1000,
}
const base64 = (text: string) => Buffer.from(text).toString("base64")

/** Authenticates a token while one Secret is stored: that of TOKEN with the changes. Returns the user. */
function userOf(text: string, changes: Partial<BootstrapToken> = {}, secret: object = {}, now = NOW) {
  const stored = secretOfToken({ ...TOKEN, ...changes })
  const { data = {}, metadata = {}, ...rest } = secret as { data?: object; metadata?: object }
  const whole = { ...stored, ...rest, data: { ...stored.data, ...data }, metadata: { ...stored.metadata, ...metadata } }
  const get = (_: unknown, { name }: { name?: string }) => (name === stored.metadata.name ? whole : undefined)
  const verdict = createBootstrapTokens({
    objects: { get } as unknown as ObjectReader,
    now: () => now,
  }).authenticate(text)
  return verdict !== undefined && "user" in verdict ? verdict.user : undefined
}

const WHOLE = "abcdef.0123456789abcdef"

describe("a bootstrap token", () => {
  test("authenticates as its own user, in its groups", () => {
    expect(userOf(WHOLE)).toEqual({
      name: "system:bootstrap:abcdef",
      groups: ["system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"],
    })
  })

  test.each([
    { title: "its secret part is wrong", given: () => userOf("abcdef.0000000000000000") },
    { title: "no Secret has its id", given: () => userOf("zzzzzz.0123456789abcdef") },
    { title: "it has expired", given: () => userOf(WHOLE, {}, {}, NOW + 1000) },
    { title: "it may not be used for authentication", given: () => userOf(WHOLE, { usages: ["signing"] }) },
    { title: "its Secret is of another type", given: () => userOf(WHOLE, {}, { type: "Opaque" }) },
    {
      title: "its Secret contains another id",
      given: () => userOf(WHOLE, {}, { data: { "token-id": base64("fedcba") } }),
    },
    {
      title: "its Secret is being deleted",
      given: () => userOf(WHOLE, {}, { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
    },
    {
      title: "the time of its expiry cannot be parsed",
      given: () => userOf(WHOLE, {}, { data: { expiration: base64("tomorrow") } }),
    },
    {
      title: "one of its groups does not begin with system:bootstrappers:",
      given: () => userOf(WHOLE, { groups: ["system:masters"] }),
    },
    { title: "it does not have the form of a bootstrap token", given: () => userOf("abcdef.0123456789ABCDEF") },
  ])("is refused when $title", ({ given }) => expect(given()).toBeUndefined())

  test("that has no time of expiry stays valid", () => {
    const { expires: _, ...forever } = TOKEN
    const stored = secretOfToken(forever)
    expect(stored.data["expiration"]).toBeUndefined()
    const objects = { get: () => stored } as unknown as ObjectReader
    expect(createBootstrapTokens({ objects, now: () => NOW * 2 }).authenticate(WHOLE)).toMatchObject({
      user: { name: "system:bootstrap:abcdef" },
    })
  })
})
