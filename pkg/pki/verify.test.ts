import { describe, expect, test } from "bun:test"
import { type CertificatePair, createCa, issueCertificate } from "./certificate.ts"
import { verifyCertificate } from "./verify.ts"

const NOW = Date.UTC(2026, 0, 1)
const DAY = 24 * 3600 * 1000
const life = (from: number, until: number) => ({
  notBefore: new Date(NOW + from * DAY),
  notAfter: new Date(NOW + until * DAY),
})
const authority = (commonName: string, issuer?: CertificatePair, validity = life(-10, 100)) =>
  createCa({ commonName, validity, ...(issuer === undefined ? {} : { issuer }) })
const client = (issuer: CertificatePair, validity = life(-10, 50)) =>
  issueCertificate(issuer, { subject: { commonName: "jane", organizations: [] }, usages: ["client"], validity })

const root = authority("root")
const upper = authority("upper", root)
const lower = authority("lower", upper, life(-5, 20))
const expired = authority("expired", root, life(-10, -1))
const stranger = authority("stranger")

describe("a certificate", () => {
  test.each<{
    readonly what: string
    readonly certificate: CertificatePair
    readonly intermediates: readonly CertificatePair[]
    readonly ok: boolean
  }>([
    { what: "signed by the root", certificate: client(root), intermediates: [], ok: true },
    { what: "with all intermediates", certificate: client(lower), intermediates: [lower, upper], ok: true },
    {
      what: "with all intermediates in another order",
      certificate: client(lower),
      intermediates: [upper, stranger, lower],
      ok: true,
    },
    { what: "with one intermediate missing", certificate: client(lower), intermediates: [lower], ok: false },
    { what: "of an intermediate that was not sent", certificate: client(upper), intermediates: [], ok: false },
    { what: "of an intermediate that has expired", certificate: client(expired), intermediates: [expired], ok: false },
    {
      what: "of an unknown authority that was sent with it",
      certificate: client(stranger),
      intermediates: [stranger],
      ok: false,
    },
    {
      what: "signed by a client's certificate",
      certificate: client(client(root)),
      intermediates: [client(root)],
      ok: false,
    },
  ])("$what: $ok", ({ certificate, intermediates, ok }) => {
    const options = { now: NOW, intermediates: intermediates.map(({ certPem }) => certPem) }
    expect(verifyCertificate(certificate.certPem, root.certPem, options).ok).toBe(ok)
  })

  test("is valid as long as every certificate between it and the root", () => {
    const intermediates = [upper.certPem, lower.certPem]
    expect(verifyCertificate(client(lower).certPem, root.certPem, { now: NOW, intermediates })).toMatchObject({
      from: NOW - 5 * DAY,
      until: NOW + 20 * DAY,
    })
  })

  test("is verified by looking at each authority once, also if authorities have signed each other in cycles", () => {
    // given thirty authorities with one name and one key, so that each is the issuer of every other
    const { keyPem } = authority("circle")
    const circle = Array.from({ length: 30 }, () => createCa({ commonName: "circle", validity: life(-1, 1), keyPem }))
    // when
    const verified = verifyCertificate(client(circle[0]!).certPem, root.certPem, {
      now: NOW,
      intermediates: circle.map(({ certPem }) => certPem),
    })
    // then it ends, which it would not in a lifetime if every path were tried
    expect(verified.ok).toBe(false)
  })
})
