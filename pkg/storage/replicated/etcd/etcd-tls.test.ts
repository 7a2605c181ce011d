import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hasEtcd, startSecuredEtcd } from "../../../../test/harness/etcd.ts"
import { realClock } from "../../../clock/real.ts"
import type { EtcdTls } from "../../../etcd/connection.ts"
import { createCa, issueCertificate } from "../../../pki/certificate.ts"
import type { SharedLogError } from "../shared-log.ts"
import { EtcdLog } from "./etcd-log.ts"

const dir = mkdtempSync(join(tmpdir(), "k3ts-etcd-tls-"))
afterAll(() => rmSync(dir, { recursive: true }))

const now = realClock.now()
const validity = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 3_600_000) }
const [authority, stranger] = ["etcd", "stranger"].map((commonName) => createCa({ commonName, validity }))
const issue = (usage: "server" | "client", address: string) =>
  issueCertificate(authority!, {
    subject: { commonName: usage, organizations: [] },
    usages: [usage],
    ipAddresses: [address],
    validity,
  })
const own = issue("client", "192.0.2.1")
const caPem = authority!.certPem

describe.skipIf(!hasEtcd)("an etcd that requires client certificates", () => {
  const tries: { title: string; address?: string; tls: EtcdTls; anchor?: "own certificate"; wants: string }[] = [
    { title: "is used with its CA and a client certificate", tls: { caPem, ...own }, wants: "ok" },
    {
      title: "is trusted by its own certificate instead of its CA",
      tls: own,
      anchor: "own certificate",
      wants: "ok",
    },
    { title: "is not used without a client certificate", tls: { caPem }, wants: "unavailable" },
    {
      title: "is not trusted if another CA has signed its certificate",
      tls: { caPem: stranger!.certPem, ...own },
      wants: "unavailable",
    },
    {
      title: "is not trusted at an address that its certificate does not have",
      address: "192.0.2.7",
      tls: { caPem, ...own },
      wants: "unavailable",
    },
  ]
  test.each(tries)("$title", async ({ address = "127.0.0.1", tls, anchor, wants }) => {
    const served = issue("server", address)
    const files = { ca: join(dir, "ca.crt"), cert: join(dir, "etcd.crt"), key: join(dir, "etcd.key") }
    writeFileSync(files.ca, caPem)
    writeFileSync(files.cert, served.certPem)
    writeFileSync(files.key, served.keyPem)
    await using etcd = await startSecuredEtcd(files)
    const trusted = anchor === undefined ? tls : { ...tls, caPem: served.certPem }
    const log = new EtcdLog({ endpoints: [etcd.endpoint], tls: trusted, clock: realClock })
    const code = await log.latest().then(
      () => "ok",
      (err: unknown) => (err as SharedLogError).code,
    )
    log.close()
    expect(code).toBe(wants)
  })
})
