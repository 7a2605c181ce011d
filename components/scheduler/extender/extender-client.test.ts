import { afterAll, expect, test } from "bun:test"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import type { TLSSocket } from "node:tls"
import { realClock } from "../../../pkg/clock/real.ts"
import { openClusterPki } from "../../../pkg/pki/cluster-pki.ts"
import { httpExtender } from "./extender-client.ts"

const pki = openClusterPki({ now: realClock.now })
const { "server-ca": ca, "request-header-ca": otherCa, "client-ca": clientCa } = pki.authorities
const serving = pki.issue({
  name: "extender",
  authority: "server-ca",
  subject: { commonName: "extender", organizations: [] },
  dnsNames: ["extender.example.com"],
})
const client = pki.issue({
  name: "scheduler",
  authority: "client-ca",
  subject: { commonName: "scheduler", organizations: [] },
})
const server = createServer(
  { key: serving.keyPem, cert: serving.certPem, requestCert: true, rejectUnauthorized: false, ca: clientCa.certPem },
  (request, response) => {
    const { authorized } = request.socket as TLSSocket
    request.resume().on("end", () => response.end(JSON.stringify({ path: request.url, authorized })))
  },
)
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
afterAll(() => server.close())
const base64 = (text: string): string => Buffer.from(text).toString("base64")
const named = { insecure: false, serverName: "extender.example.com" }

test.each<[string, object | undefined, boolean, unknown]>([
  ["its authority is trusted", { ...named, caData: base64(ca.certPem) }, true, { authorized: false }],
  ["it is trusted without a check", { insecure: true }, true, { authorized: false }],
  ["no authority is named", undefined, true, { authorized: false }],
  [
    "it knows the scheduler's certificate",
    { ...named, caData: base64(ca.certPem), certData: base64(client.certPem), keyData: base64(client.keyPem) },
    true,
    { authorized: true },
  ],
])("an extender over HTTPS is asked where %s", async (_what, tlsConfig, enableHTTPS, answer) => {
  expect(await ask(tlsConfig, enableHTTPS)).toEqual({ path: "/scheduler/filter", ...(answer as object) })
})

test.each<[string, object | undefined]>([
  ["another authority is trusted", { ...named, caData: base64(otherCa.certPem) }],
  [
    "its certificate has another name",
    { insecure: false, serverName: "other.example.com", caData: base64(ca.certPem) },
  ],
])("an extender over HTTPS is not asked where %s", async (_what, tlsConfig) => {
  await expect(ask(tlsConfig, true)).rejects.toThrow(/^extender https:.*: filter failed: /)
})

function ask(tlsConfig: object | undefined, enableHTTPS: boolean): Promise<unknown> {
  const config = {
    urlPrefix: `https://127.0.0.1:${(server.address() as AddressInfo).port}/scheduler/`,
    filterVerb: "filter",
    preemptVerb: "",
    prioritizeVerb: "",
    bindVerb: "",
    weight: 1,
    enableHTTPS,
    httpTimeout: "5s",
    nodeCacheCapable: true,
    ignorable: false,
    ...(tlsConfig === undefined ? {} : { tlsConfig: tlsConfig as { insecure: boolean } }),
  }
  return httpExtender(config, realClock)("filter", {})
}
