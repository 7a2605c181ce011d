import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createCa, issueCertificate } from "./certificate.ts"
import { readStore, systemStore } from "./trust.ts"

const DAY_MS = 86_400_000
const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }
const ca = createCa({ commonName: "the company", validity })
const pem = ca.certPem.trim()
const other = createCa({ commonName: "other", validity }).certPem.trim()

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-trust-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the system's store", () => {
  test("is the usual files and folders, unless variables name others", () => {
    const usual = systemStore({})
    expect(usual.files).toContain("/etc/ssl/certs/ca-certificates.crt")
    expect(usual.folders).toEqual(["/etc/ssl/certs", "/etc/pki/tls/certs"])
    expect(systemStore({ SSL_CERT_FILE: "/a" })).toEqual({ files: ["/a"], folders: usual.folders })
    expect(systemStore({ SSL_CERT_DIR: "/a:/b" })).toEqual({ files: usual.files, folders: ["/a", "/b"] })
    expect(systemStore({ SSL_CERT_FILE: "", SSL_CERT_DIR: "" })).toEqual(usual)
  })

  test("has the certificates of the first file that there is, and of all files of its folders, each once", () => {
    // given
    const certs = join(folder, "certs")
    mkdirSync(certs)
    writeFileSync(
      join(folder, "bundle.pem"),
      `# comment\n${pem}\n-----BEGIN CERTIFICATE-----\nbad\n-----END CERTIFICATE-----\n`,
    )
    writeFileSync(join(folder, "unread.pem"), createCa({ commonName: "unread", validity }).certPem)
    writeFileSync(join(certs, "same.pem"), pem)
    writeFileSync(join(certs, "README"), "no certificate")
    writeFileSync(join(folder, "elsewhere.pem"), other)
    symlinkSync("../elsewhere.pem", join(certs, "other.pem"))
    symlinkSync("other.pem", join(certs, "1234abcd.0"))
    // when
    const found = readStore({
      files: ["missing.pem", "bundle.pem", "unread.pem"].map((name) => join(folder, name)),
      folders: [join(folder, "missing"), certs],
    })
    // then
    expect(found).toEqual([pem, other])
  })
})

describe("a process", () => {
  let server: Server
  beforeAll(async () => {
    const pair = issueCertificate(ca, {
      subject: { commonName: "server", organizations: [] },
      validity,
      ipAddresses: ["127.0.0.1"],
      usages: ["server"],
    })
    server = createServer({ key: pair.keyPem, cert: pair.certPem }, (_req, res) => res.end("hello"))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    writeFileSync(join(folder, "company.pem"), ca.certPem)
  })
  afterAll(() => server.close())

  test.each([
    [{ SSL_CERT_FILE: "company.pem" }, "hello"],
    [{ SSL_CERT_DIR: "." }, "hello"],
    [{ NODE_EXTRA_CA_CERTS: "company.pem" }, "hello"],
    [{ SSL_CERT_FILE: "missing.pem", NODE_EXTRA_CA_CERTS: "company.pem" }, "hello"],
    [{ SSL_CERT_FILE: "missing.pem", SSL_CERT_DIR: "missing" }, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
    [{}, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
  ])("with %p trusts what that names where no authorities are given", async (named, said) => {
    const { port } = server.address() as AddressInfo
    const program = `
      import { get } from "node:https"
      import { trusting } from ${JSON.stringify(join(import.meta.dir, "trust.ts"))}
      get({ port: ${port}, host: "127.0.0.1", ...trusting(undefined) }, async (answer) => {
        for await (const part of answer) process.stdout.write(String(part))
      }).on("error", ({ code }) => process.stdout.write(code))`
    const env = Object.fromEntries(Object.entries(named).map(([name, path]) => [name, join(folder, path)]))
    const child = Bun.spawn([process.execPath, "-e", program], {
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stdout: "pipe",
    })
    expect(await new Response(child.stdout).text()).toBe(said)
  })
})
