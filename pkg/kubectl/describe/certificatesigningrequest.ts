import { Buffer } from "node:buffer"
import { humanDuration } from "../../apimachinery/scalars/time.ts"
import type { CertificateSigningRequest } from "../../api/certificates/v1/certificatesigningrequest.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { type CertificateRequest, readCertificateRequest } from "../../pki/request/certificate-request.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { labelsText } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { longTime } from "./times.ts"

const REQUESTS = { group: "certificates.k8s.io", version: "v1", resource: "certificatesigningrequests" }

/** Attributes of a subject that are shown when there are any, and the object identifiers of X.520. */
const ATTRIBUTES = [
  ["Organization", "2.5.4.10"],
  ["Organizational Unit", "2.5.4.11"],
  ["Country", "2.5.4.6"],
  ["Locality", "2.5.4.7"],
  ["Province", "2.5.4.8"],
  ["StreetAddress", "2.5.4.9"],
  ["PostalCode", "2.5.4.17"],
] as const
const SERIAL_NUMBER = "2.5.4.5"

export const describeCertificateSigningRequest: Describer = async (describing, _namespace, name) => {
  const request = await describing.client.get<CertificateSigningRequest>(REQUESTS, "", name)
  const { metadata, spec } = request
  const events = await eventsOf(describing, request)
  const content = read(spec.request)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Labels:", labelsText(metadata.labels))
    w.row(0, "Annotations:", labelsText(metadata.annotations))
    w.row(0, "CreationTimestamp:", longTime(metadata.creationTimestamp, describing.zone))
    w.row(0, "Requesting User:", spec.username ?? "")
    if (spec.signerName) w.row(0, "Signer:", spec.signerName)
    if (spec.expirationSeconds !== undefined)
      w.row(0, "Requested Duration:", humanDuration(spec.expirationSeconds * 1000))
    w.row(0, "Status:", statusOf(request))
    describeSubject(w, content)
    describeNames(w, content)
    describeEvents(w, events, describing.now())
  })
}

function read(request: string): CertificateRequest {
  try {
    return readCertificateRequest(Buffer.from(request, "base64").toString())
  } catch (err) {
    throw new Error(`Error parsing CSR: ${errorMessage(err)}`, { cause: err })
  }
}

/** Returns what has become of a request: `Approved,Issued`. Source: extractCSRStatus. */
function statusOf({ status }: CertificateSigningRequest): string {
  const has = (wanted: string) => (status?.conditions ?? []).some(({ type }) => type === wanted)
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending"
  return `${decision}${has("Failed") ? ",Failed" : ""}${status?.certificate ? ",Issued" : ""}`
}

function describeSubject(w: PrefixWriter, { subject, commonName }: CertificateRequest): void {
  const valuesOf = (oid: string) => subject.filter(({ type }) => type === oid).map(({ value }) => value)
  w.row(0, "Subject:")
  w.row(0, "", "Common Name:", commonName)
  w.row(0, "", "Serial Number:", valuesOf(SERIAL_NUMBER).at(-1) ?? "")
  for (const [title, oid] of ATTRIBUTES) describeList(w, title, valuesOf(oid))
}

function describeNames(w: PrefixWriter, { dnsNames, emailAddresses, uris, ipAddresses }: CertificateRequest): void {
  if (dnsNames.length + emailAddresses.length + uris.length + ipAddresses.length === 0) return
  w.row(0, "Subject Alternative Names:")
  describeList(w, "DNS Names", dnsNames)
  describeList(w, "Email Addresses", emailAddresses)
  describeList(w, "URIs", uris)
  describeList(w, "IP Addresses", ipAddresses.map(addressText))
}

function describeList(w: PrefixWriter, title: string, values: readonly string[]): void {
  if (values.length > 0) w.row(0, "", `${title}:`, values.join("\n\t\t"))
}

/** Returns four or sixteen bytes as an address; IPv6 as in a URL, the longest row of zeros left out. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".")
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i]! << 8) | bytes[2 * i + 1]!).toString(16))
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1)
}
