import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { hasPostgres, startPostgres, type TestPostgres } from "../../../../test/harness/postgres.ts"
import { realClock } from "../../../clock/real.ts"
import { createCa, issueCertificate } from "../../../pki/certificate.ts"
import type { PostgresTls } from "../../../postgres/connection.ts"
import { parsePostgresUrl } from "../../../postgres/endpoint.ts"
import type { SharedLogError } from "../shared-log.ts"
import { PostgresLog } from "./postgres-log.ts"

const now = realClock.now()
const validity = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 3_600_000) }
const [authority, stranger] = ["PostgreSQL", "stranger"].map((commonName) => createCa({ commonName, validity }))
const issue = (usage: "server" | "client") =>
  issueCertificate(authority!, {
    subject: { commonName: usage, organizations: [] },
    usages: [usage],
    ipAddresses: ["127.0.0.1"],
    validity,
  })
const own = issue("client")
const caPem = authority!.certPem

let postgres: TestPostgres

describe.skipIf(!hasPostgres)("a PostgreSQL that requires client certificates", () => {
  beforeAll(async () => void (postgres = await startPostgres({ ...issue("server"), caPem })), 30_000)
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  const tries: { title: string; host?: string; mode?: string; tls: PostgresTls; wants: string }[] = [
    { title: "is used with its CA and a client certificate", tls: { caPem, ...own }, wants: "ok" },
    { title: "is not used without a client certificate", tls: { caPem }, wants: "unavailable" },
    { title: "is not used without TLS", mode: "disable", tls: {}, wants: "unavailable" },
    {
      title: "is not trusted if another CA has signed its certificate",
      tls: { caPem: stranger!.certPem, ...own },
      wants: "unavailable",
    },
    {
      title: "is not trusted under a name that its certificate does not have",
      host: "localhost",
      tls: { caPem, ...own },
      wants: "unavailable",
    },
  ]
  test.each(tries)("$title", async ({ host = "127.0.0.1", mode = "verify-full", tls, wants }) => {
    const url = `${postgres.endpoint.replace("127.0.0.1", host)}?sslmode=${mode}`
    const log = new PostgresLog({ endpoints: [parsePostgresUrl(url)!], tls, clock: realClock })
    const code = await log
      .read(() => undefined)
      .then(
        () => "ok",
        (err: unknown) => (err as SharedLogError).code,
      )
    log.close()
    expect(code).toBe(wants)
  })
})
