import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parse } from "yaml"
import { seededRandom } from "../clock/random.ts"
import { addressBytes } from "./der/address.ts"
import { belongTogether, createCa, encodeCertificate, newPrivateKey } from "./certificate.ts"
import { oid, sequence, set, utf8String } from "./der/der.ts"
import { openClusterPki } from "./cluster-pki.ts"
import { kubeconfigYaml } from "./kubeconfig.ts"
import { subjectOf } from "./der/subject.ts"
import { needsRenewal, renewalTime, verifyCertificate } from "./verify.ts"

const NOW = Date.UTC(2026, 0, 1)
const DAY = 24 * 3600 * 1000
const admin = {
  name: "client-admin",
  authority: "client-ca",
  subject: { commonName: "kubernetes-admin", organizations: ["system:masters", "a,b\nCN=x"] },
} as const
const serving = {
  name: "serving-kube-apiserver",
  authority: "server-ca",
  subject: { commonName: "kube-apiserver", organizations: [] },
  dnsNames: ["kubernetes", "kubernetes.default.svc.cluster.local"],
  ipAddresses: ["10.43.0.1", "::1"],
} as const

let dir: string
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "pki-"))))
afterEach(() => rmSync(dir, { recursive: true }))

describe("certificates", () => {
  test("contain user and groups exactly, whatever characters they have", () => {
    const pki = openClusterPki({ now: () => NOW })
    expect(subjectOf(pki.issue(admin).certPem)).toEqual({
      commonName: "kubernetes-admin",
      organizations: expect.arrayContaining(["system:masters", "a,b\nCN=x"]) as unknown as string[],
    })
  })

  test("contain the UIDs of a user", () => {
    const pki = openClusterPki({ now: () => NOW })
    const jane = { commonName: "jane", organizations: ["devs"], uids: ["1001", "é"] }
    const { certPem } = pki.issue({ ...admin, subject: jane })
    expect(subjectOf(certPem)).toEqual(jane)
  })

  test("of servers contain their hosts and addresses and no others", () => {
    const certificate = new X509Certificate(openClusterPki({ now: () => NOW }).issue(serving).certPem)
    expect(certificate.checkHost("kubernetes")).toBe("kubernetes")
    expect(certificate.checkHost("elsewhere")).toBeUndefined()
    expect(certificate.checkIP("10.43.0.1")).toBe("10.43.0.1")
    expect(certificate.checkIP("::1")).toBe("::1")
    expect(certificate.checkIP("10.43.0.2")).toBeUndefined()
  })

  test("are the same byte for byte with the same seed", () => {
    const make = (seed: number) => openClusterPki({ now: () => NOW, seeded: seededRandom(seed) })
    const [first, again, other] = [make(1), make(1), make(2)]
    expect(again.authorities).toEqual(first.authorities)
    const leaf = first.issue(admin)
    expect(again.issue(admin)).toEqual(leaf)
    expect(verifyCertificate(leaf.certPem, first.authorities["client-ca"].certPem, { now: NOW })).toMatchObject({
      ok: true,
      subject: { commonName: "kubernetes-admin" },
    })
    expect(verifyCertificate(leaf.certPem, other.authorities["client-ca"].certPem, { now: NOW }).ok).toBe(false)
  })

  test("are refused under another authority, before their time and after it", () => {
    const pki = openClusterPki({ now: () => NOW })
    const { certPem } = pki.issue(admin)
    const ca = pki.authorities["client-ca"].certPem
    expect(verifyCertificate(certPem, ca, { now: NOW })).toMatchObject({
      ok: true,
      subject: { commonName: "kubernetes-admin" },
    })
    expect(verifyCertificate(certPem, pki.authorities["server-ca"].certPem, { now: NOW })).toEqual({
      ok: false,
      reason: "unknown authority",
    })
    expect(verifyCertificate(certPem, ca + pki.authorities["server-ca"].certPem, { now: NOW }).ok).toBe(true)
    expect(verifyCertificate(certPem, ca, { now: NOW - DAY })).toEqual({ ok: false, reason: "not yet valid" })
    expect(verifyCertificate(certPem, ca, { now: NOW + 366 * DAY })).toEqual({ ok: false, reason: "expired" })
    expect(verifyCertificate("nonsense", ca, { now: NOW })).toEqual({ ok: false, reason: "unreadable" })
  })

  test.each([
    ["1.2.3.4", "01020304"],
    ["::", "00".repeat(16)],
    ["fd00::1:2", "fd00" + "0000".repeat(5) + "00010002"],
    ["::ffff:10.0.0.1", "00".repeat(10) + "ffff0a000001"],
    ["1:2:3:4:5:6:7:8", "00010002000300040005000600070008"],
  ])("encode the address %s as %s", (address, hex) => {
    expect(addressBytes(address).toString("hex")).toBe(hex)
  })

  test("refuse a host name as an address", () => {
    expect(() => addressBytes("localhost")).toThrow("not one")
  })
})

describe("the certificate files of a cluster", () => {
  test("are created once and loaded afterwards, with keys that only the owner can read", () => {
    const first = openClusterPki({ dir, now: () => NOW })
    const leaf = first.leaf(serving)
    const second = openClusterPki({ dir, now: () => NOW + DAY })
    expect(second.authorities).toEqual(first.authorities)
    expect(second.leaf(serving)).toEqual(leaf)
    expect(statSync(join(dir, "server-ca.key")).mode & 0o777).toBe(0o600)
    expect(statSync(join(dir, "serving-kube-apiserver.key")).mode & 0o777).toBe(0o600)
  })

  test("are renewed when less than a third of their lifetime is left, by the same authority", () => {
    const leaf = openClusterPki({ dir, now: () => NOW }).leaf(serving)
    const due = renewalTime(leaf.certPem)
    expect([needsRenewal(leaf.certPem, due - 1000), needsRenewal(leaf.certPem, due)]).toEqual([false, true])
    const renewed = openClusterPki({ dir, now: () => due })
    expect(renewed.leaf(serving)).not.toEqual(leaf)
    expect(renewed.leaf(serving)).toEqual(renewed.leaf(serving))
    expect(verifyCertificate(leaf.certPem, renewed.authorities["server-ca"].certPem, { now: due }).ok).toBe(true)
  })

  test("an authority is renewed with its key and name, so that certificates that it signed stay valid", () => {
    const before = openClusterPki({ dir, now: () => NOW })
    const later = NOW + 3000 * DAY
    const after = openClusterPki({ dir, now: () => later })
    expect(after.authorities["client-ca"].keyPem).toBe(before.authorities["client-ca"].keyPem)
    expect(after.authorities["client-ca"].certPem).not.toBe(before.authorities["client-ca"].certPem)
    expect(
      verifyCertificate(after.issue(admin).certPem, before.authorities["client-ca"].certPem, { now: later }).ok,
    ).toBe(true)
  })

  test("an authority is renewed together with the other certificates in its file", () => {
    const before = openClusterPki({ dir, now: () => NOW }).authorities["server-ca"]
    const behind = createCa({
      commonName: "behind",
      validity: { notBefore: new Date(NOW), notAfter: new Date(NOW + DAY) },
    })
    writeFileSync(join(dir, "server-ca.crt"), before.certPem + behind.certPem)
    const after = openClusterPki({ dir, now: () => NOW + 3000 * DAY }).authorities["server-ca"].certPem
    expect(after).not.toContain(before.certPem)
    expect(after).toEndWith(behind.certPem)
  })

  test("an authority of another program keeps its name when it is renewed", () => {
    // given an authority with an organization, and without a name for its key
    const { keyPem } = openClusterPki({ dir, now: () => NOW }).authorities["server-ca"]
    const attribute = (type: string, text: string) => set(sequence(oid(type), utf8String(text)))
    const subject = sequence(attribute("2.5.4.10", "Example"), attribute("2.5.4.3", "made-elsewhere"))
    const pem = encodeCertificate({
      subject,
      issuer: subject,
      spki: createPublicKey(keyPem).export({ type: "spki", format: "der" }),
      validity: { notBefore: new Date(NOW), notAfter: new Date(NOW + 10 * DAY) },
      extensions: [],
      signer: createPrivateKey(keyPem),
    })
    const certificate = join(dir, "server-ca.crt")
    writeFileSync(certificate, pem)
    // when it is about to end
    const pki = openClusterPki({ dir, now: () => NOW + 9 * DAY })
    // then
    expect(pki.authorities["server-ca"].certPem).toBe(pem)
    expect(readFileSync(certificate, "utf8")).toBe(pem)
  })

  test("an additional name gives a new certificate", () => {
    const pki = openClusterPki({ dir, now: () => NOW })
    const leaf = pki.leaf(serving)
    const wider = pki.leaf({ ...serving, dnsNames: [...serving.dnsNames, "k3ts.example"] })
    expect(wider).not.toEqual(leaf)
    expect(new X509Certificate(wider.certPem).checkHost("k3ts.example")).toBe("k3ts.example")
  })

  test("a pair of which only one file was written is completed at the next start", () => {
    // given an authority whose certificate was not written yet, and a leaf whose key is newer than its certificate
    const pki = openClusterPki({ dir, now: () => NOW })
    pki.leaf(serving)
    rmSync(join(dir, "client-ca.crt"))
    writeFileSync(join(dir, "serving-kube-apiserver.key"), newPrivateKey())
    const key = readFileSync(join(dir, "client-ca.key"), "utf8")
    // when it starts again
    const again = openClusterPki({ dir, now: () => NOW })
    // then the key found is certified and the leaf is whole
    expect(again.authorities["client-ca"].keyPem).toBe(key)
    expect(belongTogether(again.authorities["client-ca"])).toBe(true)
    expect(belongTogether(again.leaf(serving))).toBe(true)
    expect(existsSync(join(dir, "client-ca.crt.tmp"))).toBe(false)
  })

  test("an authority with the key of another one is refused with its name and not replaced", () => {
    openClusterPki({ dir, now: () => NOW })
    writeFileSync(join(dir, "client-ca.key"), newPrivateKey())
    expect(() => openClusterPki({ dir, now: () => NOW })).toThrow(
      "client-ca.crt and client-ca.key do not belong together",
    )
  })
})

test("a kubeconfig contains the CA and the user's certificate or token", () => {
  const options = { server: "https://127.0.0.1:6443", caPem: "CA" }
  const withToken = parse(kubeconfigYaml({ ...options, user: { token: "t" } })) as {
    users: unknown
    clusters: unknown
    "current-context": string
  }
  expect(withToken).toMatchObject({ users: [{ name: "default", user: { token: "t" } }], "current-context": "default" })
  expect(withToken.clusters).toEqual([
    { name: "default", cluster: { server: options.server, "certificate-authority-data": "Q0E=" } },
  ])
  expect(kubeconfigYaml({ ...options, user: { certPem: "C", keyPem: "K" } })).toContain("client-key-data: Sw==")
})
