import { describe, expect, test } from "bun:test"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { PeerCertificate } from "../../../pkg/runtime/http/peer-certificate.ts"
import type { UserInfo } from "../call/request.ts"
import { type AuthenticatorOptions, type CertificateMeaning, createAuthenticator } from "./authenticator.ts"

const certificate: PeerCertificate = {
  commonName: "jane",
  organizations: ["devs"],
  raw: Buffer.alloc(0),
  intermediates: [],
}

/** The hash of the certificate above, which has no bytes. */
const HASH_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/** A connection with a client certificate. `at` returns the user of a request on the connection at a time. */
function connection(
  meaning: CertificateMeaning | "ignored" | undefined,
  more: Pick<AuthenticatorOptions, "mayBeAnonymous"> = {},
  uids?: readonly string[],
) {
  let [time, asked] = [0, 0]
  const shown = uids === undefined ? certificate : { ...certificate, uids }
  const { authenticate } = createAuthenticator({
    ...more,
    tokens: [{ authenticate: (token) => (token === "good" ? { user: { name: "token", groups: [] } } : undefined) }],
    meaningOf: () => {
      asked++
      return meaning
    },
    now: () => time,
  })
  const at = (now: number, authorization?: string, path = "/api/v1/pods"): UserInfo | string => {
    time = now
    try {
      // Each of these tokens is known at once.
      return authenticate({
        certificate: shown,
        authorization,
        path,
        isWebSocket: false,
        header: (name) => (name === "x-remote-user" ? ["other"] : []),
        headerNames: () => [],
      }) as UserInfo
    } catch (err) {
      return ApiError.from(err).reason
    }
  }
  return { at, asked: () => asked }
}

describe("a certificate on a connection that stays open", () => {
  const jane = {
    name: "jane",
    groups: ["devs", "system:authenticated"],
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${HASH_OF_NOTHING}`] },
  }

  test("authenticates its user until it expires", () => {
    const { at, asked } = connection({ is: "user", from: 10, until: 20 })
    expect([9, 10, 20, 21].map((time) => at(time))).toEqual(["Unauthorized", jane, jane, "Unauthorized"])
    expect(asked()).toBe(1)
  })

  test("names the user's UID, unless it has none that is clear", () => {
    const uidOf = (uids: readonly string[]) => {
      const user = connection({ is: "user", from: 10, until: 20 }, {}, uids).at(15)
      return typeof user === "string" ? user : user.uid
    }
    expect([["7"], [], ["7", "8"], [""]].map(uidOf)).toEqual(["7", undefined, "Unauthorized", "Unauthorized"])
  })

  test("of a front proxy cannot name users any more once it has expired", () => {
    const { at } = connection({ is: "front-proxy", from: 10, until: 20 })
    expect(at(20)).toMatchObject({ name: "other" })
    expect(at(21)).toBe("Unauthorized")
  })

  test("does not prevent authentication by a token once it has expired", () => {
    const { at } = connection({ is: "user", from: 10, until: 20 })
    expect(at(15, "Bearer good")).toEqual(jane)
    expect(at(21, "Bearer good")).toMatchObject({ name: "token" })
    expect(at(21, "Bearer bad")).toBe("Unauthorized")
  })

  test("that has expired or is of an unknown CA is refused even for paths that anonymous users may read", () => {
    const health = (meaning: Parameters<typeof connection>[0], time: number) =>
      connection(meaning).at(time, undefined, "/healthz")
    expect(health({ is: "user", from: 10, until: 20 }, 21)).toBe("Unauthorized")
    expect(health(undefined, 15)).toBe("Unauthorized")
    expect(health("ignored", 15)).toMatchObject({ name: "system:anonymous" })
  })

  test("that names nobody leaves a request anonymous for health and version, or for all paths or none where asked", () => {
    const on = (mayBeAnonymous: boolean | undefined) => {
      const more = mayBeAnonymous === undefined ? {} : { mayBeAnonymous: () => mayBeAnonymous }
      const { at } = connection("ignored", more)
      return ["/version", "/api/v1/pods"].map((path) => {
        const user = at(15, undefined, path)
        return typeof user === "string" ? user : user.name
      })
    }
    expect(on(undefined)).toEqual(["system:anonymous", "Unauthorized"])
    expect(on(true)).toEqual(["system:anonymous", "system:anonymous"])
    expect(on(false)).toEqual(["Unauthorized", "Unauthorized"])
  })

  test("of an unknown CA authenticates nobody", () => {
    expect(connection(undefined).at(15)).toBe("Unauthorized")
  })
})
