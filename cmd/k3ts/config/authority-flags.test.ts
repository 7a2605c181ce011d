import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createCa } from "../../../pkg/pki/certificate.ts"
import { furtherAuthoritiesOf } from "./authority-flags.ts"

const dir = mkdtempSync(join(tmpdir(), "k3ts-authorities-"))
afterAll(() => rmSync(dir, { recursive: true }))
const fileOf = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}

const DAY_MS = 86_400_000
const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }
const [one, other] = [createCa({ commonName: "one", validity }), createCa({ commonName: "other", validity })]
const users = fileOf("users.pem", one.certPem)
const proxies = fileOf("proxies.pem", other.certPem)

const NONE = {
  "client-ca-file": undefined,
  "requestheader-client-ca-file": undefined,
  "requestheader-allowed-names": [],
  "requestheader-username-headers": [],
  "requestheader-group-headers": [],
  "requestheader-uid-headers": [],
  "requestheader-extra-headers-prefix": [],
}
const authorities = (flags: Partial<Parameters<typeof furtherAuthoritiesOf>[0]>) =>
  furtherAuthoritiesOf({ ...NONE, ...flags })

test("without flags there are no authorities of others", () => {
  expect(authorities({})).toEqual({})
})

test("a front proxy has the usual headers, unless others are named, in lower case", () => {
  const flags = { "requestheader-client-ca-file": proxies, "requestheader-username-headers": ["X-User", "X-Login"] }
  expect(authorities({ "client-ca-file": users, ...flags })).toEqual({
    furtherAuthorities: {
      clientCaPem: one.certPem,
      frontProxy: {
        caPem: other.certPem,
        allowedNames: [],
        headers: {
          username: ["x-user", "x-login"],
          group: ["x-remote-group"],
          uid: ["x-remote-uid"],
          extraPrefix: ["x-remote-extra-"],
        },
      },
    },
  })
})

// The authority of users, with other line ends.
const again = fileOf("again.pem", other.certPem + one.certPem.replaceAll("\n", "\r\n"))
test.each([
  [
    "the authority of users for a proxy of any name",
    { "requestheader-client-ca-file": users },
    "have an authority in common",
  ],
  ["it, written in another way", { "requestheader-client-ca-file": again }, "have an authority in common"],
  ["headers without an authority", { "requestheader-uid-headers": ["X"] }, "needs --requestheader-client-ca-file"],
  ["a file that is not there", { "client-ca-file": join(dir, "none") }, "cannot be read: ENOENT"],
  ["a file without a certificate", { "client-ca-file": fileOf("a.pem", "hello") }, "has no certificate in PEM"],
  [
    "a file with a broken certificate beside a good one",
    {
      "client-ca-file": fileOf(
        "b.pem",
        `${one.certPem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      ),
    },
    "has a certificate that cannot be read",
  ],
] as const)("%s is refused", (_what, flags, why) => {
  expect(() => authorities({ "client-ca-file": users, ...flags })).toThrow(why)
})

test("the authority of users may be that of a proxy that is named", () => {
  const flags = { "requestheader-client-ca-file": users, "requestheader-allowed-names": ["front"] }
  expect(authorities({ "client-ca-file": users, ...flags }).furtherAuthorities?.frontProxy?.allowedNames).toEqual([
    "front",
  ])
})
