import { X509Certificate } from "node:crypto"
import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Condition } from "../../../apimachinery/meta.ts"
import { conditionFaults } from "../../../apimachinery/validation/conditions.ts"
import {
  at,
  invalidValue,
  invalidWithoutValue,
  notSupported,
  required,
  tooLong,
} from "../../../apimachinery/validation/field-errors.ts"
import { pemBlocks, type PemBlock } from "../../../pki/der/pem.ts"
import { requestedKey } from "./podcertificaterequest-validation.ts"
import type { PodCertificateRequestSpec, PodCertificateRequestStatus } from "./podcertificaterequestspec.ts"

/** Source: pkg/apis/certificates/validation/validation.go ValidatePodCertificateRequestStatusUpdate. */

/** The parts of a PodCertificateRequest that its rules read. */
interface RequestView {
  readonly spec: PodCertificateRequestSpec
  readonly status: PodCertificateRequestStatus
}

const KNOWN = ["Issued", "Denied", "Failed"]
const CONDITIONS = "status.conditions"
const CHAIN = "status.certificateChain"
const LARGEST_CHAIN = 100 * 1024
const MINUTE = 60_000

const has = ({ conditions = [] }: PodCertificateRequestStatus, ...types: readonly string[]): boolean =>
  conditions.some(({ type, status }) => types.includes(type) && status === "True")

/** Returns the faults of a change of the status, but for those that depend on the time and on the user. */
export function statusChangeFaults({ spec, status }: RequestView, { status: old }: RequestView): readonly Cause[] {
  const ofConditions = conditionsFaults(status.conditions)
  if (ofConditions.length > 0) return ofConditions
  const unless = (isSo: boolean, why: string) => (isSo ? [] : [invalidWithoutValue("status", why)])
  if (has(old, ...KNOWN))
    return unless(deepEqual(status, old), "immutable after PodCertificateRequest is issued, denied, or failed")
  if (has(status, "Denied", "Failed"))
    return unless(
      deepEqual(status, { conditions: status.conditions }),
      "non-condition status fields must be empty when denying or failing the PodCertificateRequest",
    )
  if (has(status, "Issued")) return issuedFaults(spec, status)
  return unless(deepEqual(status, old), 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"')
}

function conditionsFaults(conditions: readonly Condition[] = []): readonly Cause[] {
  const causes: Cause[] = []
  let known = 0
  for (const [i, { type, status }] of conditions.entries()) {
    if (!KNOWN.includes(type)) {
      causes.push(notSupported(at(CONDITIONS, i, "type"), type, KNOWN))
      continue
    }
    known++
    if (known > 1)
      causes.push(
        invalidValue(
          at(CONDITIONS, i, "type"),
          type,
          'There may be at most one condition with type "Issued", "Denied", or "Failed"',
        ),
      )
    if (status !== "True") causes.push(notSupported(at(CONDITIONS, i, "status"), status, ["True"]))
  }
  return [...causes, ...conditionFaults(CONDITIONS, conditions)]
}

function issuedFaults(spec: PodCertificateRequestSpec, status: PodCertificateRequestStatus): readonly Cause[] {
  const chain = status.certificateChain ?? ""
  const fault = (why: string) => [invalidWithoutValue(CHAIN, why)]
  if (chain.length > LARGEST_CHAIN) return [tooLong(CHAIN, LARGEST_CHAIN)]
  const [first, ...others] = pemBlocks(chain)
  if (first === undefined) return fault("issued certificate chain must contain at least one certificate")
  if (first.label !== "CERTIFICATE")
    return fault("issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
  const leaf = certificateIn(first)
  if (leaf === undefined) return fault("leaf certificate does not parse as valid X.509")
  const names = namesFaults(leaf)
  if (names.length > 0) return names
  if (!leaf.publicKey.equals(requestedKey(spec)))
    return fault("leaf certificate was not issued to the requested public key")
  const times = timeFaults(spec, status, leaf)
  if (times.length > 0) return times
  for (const block of others) {
    if (block.label !== "CERTIFICATE")
      return fault("issued certificate chain must consist entirely of CERTFICATE PEM blocks")
    if (certificateIn(block) === undefined) return fault("intermediate certificate does not parse as valid X.509")
  }
  return []
}

function certificateIn({ bytes }: PemBlock): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes)
  } catch {
    return undefined
  }
}

function namesFaults({ subjectAltName = "" }: X509Certificate): readonly Cause[] {
  const names = subjectAltName.split(", ").flatMap((part) => (part.startsWith("DNS:") ? [part.slice(4)] : []))
  return names.flatMap((name) => {
    if (name === "") return [invalidValue(CHAIN, name, "leaf certificate should not contain empty DNSName")]
    return [
      ...(name.includes("..") ? [invalidValue(CHAIN, name, "leaf certificate's DNSName should not contain '..'")] : []),
      ...(name.startsWith(".") || name.endsWith(".")
        ? [invalidValue(CHAIN, name, "leaf certificate's DNSName should not start or end with '.'")]
        : []),
    ]
  })
}

function timeFaults(
  { maxExpirationSeconds }: PodCertificateRequestSpec,
  { notBefore, notAfter, beginRefreshAt }: PodCertificateRequestStatus,
  leaf: X509Certificate,
): readonly Cause[] {
  const missing = [
    ["notBefore", notBefore, "must be present and consistent with the issued certificate"],
    ["notAfter", notAfter, "must be present and consistent with the issued certificate"],
    ["beginRefreshAt", beginRefreshAt, "must be present and in the range [notbefore+10min, notafter-10min]"],
  ].flatMap(([name, value, why]) => (typeof value === "string" ? [] : [required(`status.${name!}`, why!)]))
  if (typeof notBefore !== "string" || typeof notAfter !== "string" || typeof beginRefreshAt !== "string")
    return missing
  const [from, until, refresh] = [notBefore, notAfter, beginRefreshAt].map((time) => Date.parse(time)) as [
    number,
    number,
    number,
  ]
  if (from !== Date.parse(leaf.validFrom))
    return [
      invalidValue("status.notBefore", notBefore, "must be set to the NotBefore time encoded in the leaf certificate"),
    ]
  if (until !== Date.parse(leaf.validTo))
    return [
      invalidValue("status.notAfter", notAfter, "must be set to the NotAfter time encoded in the leaf certificate"),
    ]
  const lifetime = until - from
  if (lifetime < 60 * MINUTE) return [invalidWithoutValue(CHAIN, "leaf certificate lifetime must be >= 1 hour")]
  if (lifetime > maxExpirationSeconds * 1000)
    return [
      invalidWithoutValue(
        CHAIN,
        `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${maxExpirationSeconds})`,
      ),
    ]
  const refreshFault = (why: string) => [invalidValue("status.beginRefreshAt", beginRefreshAt, why)]
  if (refresh < from + 10 * MINUTE) return refreshFault("must be at least 10 minutes after status.notBefore")
  if (refresh > until - 10 * MINUTE) return refreshFault("must be at least 10 minutes before status.notAfter")
  return []
}
