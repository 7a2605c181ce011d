import { describe, expect, test } from "bun:test"
import { ConfigMap, startCluster } from "../../cluster/testing/testing.ts"
import { createCa } from "../../../pkg/pki/certificate.ts"
import { AUTHENTICATION_CONFIG, authenticationData } from "./authentication-config.ts"

const NOW = Date.parse("2026-01-01T00:00:00Z")
const DAY_MS = 86_400_000
const ca = (commonName: string, until: number): string =>
  createCa({ commonName, validity: { notBefore: new Date(NOW - DAY_MS), notAfter: new Date(until) } }).certPem
const own = ca("own", NOW + DAY_MS)
const proxy = ca("proxy", NOW + DAY_MS)
const other = ca("other", NOW + DAY_MS)
const expired = ca("expired", NOW - 1000)

describe("the ConfigMap extension-apiserver-authentication has", () => {
  const rows = [
    { title: "the server's own CA if it had none before", stored: {}, wants: { "client-ca-file": own } },
    {
      title: "CAs that another client added and that are still valid",
      stored: { "client-ca-file": `${other}${expired}` },
      wants: { "client-ca-file": `${other}${own}` },
    },
    {
      title: "no certificate that cannot be parsed",
      stored: { "client-ca-file": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", x: "y" },
      wants: { "client-ca-file": own },
    },
  ]
  test.each(rows)("$title", ({ stored, wants }) => {
    expect(authenticationData(stored, { clientCaPem: own }, NOW)).toEqual(wants)
  })

  test("header names that another client added come first, those of the server after them", () => {
    const stored = { "requestheader-username-headers": `["X-User", 7]`, "requestheader-group-headers": "{" }
    expect(authenticationData(stored, { clientCaPem: own, frontProxyCaPem: proxy }, NOW)).toMatchObject({
      "requestheader-username-headers": `["X-User","X-Remote-User"]`,
      "requestheader-group-headers": `["X-Remote-Group"]`,
    })
  })
})

test("the ConfigMap is created again when it is deleted, and corrected within a minute when it is changed", async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  const read = () => client.get(ConfigMap, AUTHENTICATION_CONFIG)
  const { data } = await read()
  expect(Object.keys(data!)).toContain("client-ca-file")
  // when it is deleted
  await client.delete(ConfigMap, AUTHENTICATION_CONFIG)
  await cluster.settle()
  // then
  expect((await read()).data).toEqual(data!)
  // when it is emptied
  await client.update(ConfigMap, { ...(await read()), data: { junk: "x" } })
  await cluster.advance(60_000)
  // then
  expect((await read()).data).toEqual(data!)
})
