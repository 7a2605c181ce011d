import { Buffer } from "node:buffer"
import { X509Certificate } from "node:crypto"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { CertificateRequestError, readCertificateRequest } from "../../../pki/request/certificate-request.ts"
import { pemBlocks } from "../../../pki/der/pem.ts"
import { KEY_USAGES } from "../../../pki/request/sign-request.ts"
import { signerNameFaults } from "./signer-name.ts"
import type {
  CertificateSigningRequestCondition,
  CertificateSigningRequestSpec,
  CertificateSigningRequestStatus,
} from "./certificatesigningrequestspec.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: pkg/apis/certificates/validation/validation.go. */

const LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
const SHORTEST_SECONDS = 600
const DECISIONS = ["Approved", "Denied"]
const FINAL = [...DECISIONS, "Failed"]
const CONDITIONS = "status.conditions"

/** The parts of a CertificateSigningRequest that its rules read. */
interface RequestView {
  readonly spec: CertificateSigningRequestSpec
  readonly status: CertificateSigningRequestStatus
}

/** Returns the faults of the spec, which cannot change. */
export function specFaults({ spec }: RequestView): readonly Cause[] {
  const { request = "", usages = [], signerName, expirationSeconds } = spec
  const causes: Cause[] = []
  const problem = requestProblem(request)
  if (problem !== undefined) causes.push(invalidValue("spec.request", request, problem))
  if (usages.length === 0) causes.push(required("spec.usages"))
  for (const [i, usage] of usages.entries())
    if (!KEY_USAGES.includes(usage)) causes.push(notSupported(at("spec.usages", i), usage, KEY_USAGES))
  for (const i of repeated(usages, (usage) => usage)) causes.push(duplicate(at("spec.usages", i), usages[i]))
  if (signerName === LEGACY_SIGNER)
    causes.push(
      invalidValue("spec.signerName", signerName, "the legacy signerName is not allowed via this API version"),
    )
  else pushAll(causes, signerNameFaults("spec.signerName", signerName))
  if (expirationSeconds !== undefined && expirationSeconds < SHORTEST_SECONDS)
    causes.push(
      invalidValue(
        "spec.expirationSeconds",
        expirationSeconds,
        "may not specify a duration less than 600 seconds (10 minutes)",
      ),
    )
  return causes
}

function requestProblem(request: string): string | undefined {
  try {
    readCertificateRequest(Buffer.from(request, "base64").toString("latin1"))
    return undefined
  } catch (error) {
    if (error instanceof CertificateRequestError) return error.message
    throw error
  }
}

export function statusFaults({ status: { conditions = [], certificate = "" } }: RequestView): readonly Cause[] {
  const causes: Cause[] = []
  const again = repeated(conditions, ({ type }) => type)
  for (const [i, { type, status }] of conditions.entries()) {
    const allowed = FINAL.includes(type) ? ["True"] : ["False", "True", "Unknown"]
    if (type === "") causes.push(required(at(CONDITIONS, i, "type")))
    if (status === "") causes.push(required(at(CONDITIONS, i, "status")))
    else if (!allowed.includes(status)) causes.push(notSupported(at(CONDITIONS, i, "status"), status, allowed))
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined
    if (other !== undefined && conditions.slice(0, i).some((before) => before.type === other))
      causes.push(invalidValue(CONDITIONS, type, "Approved and Denied conditions are mutually exclusive"))
    if (again.has(i)) causes.push(duplicate(at(CONDITIONS, i, "type"), type))
  }
  const problem = certificate === "" ? undefined : certificateProblem(certificate)
  return problem === undefined ? causes : [...causes, invalidValue("status.certificate", "<certificate data>", problem)]
}

function certificateProblem(certificate: string): string | undefined {
  const blocks = pemBlocks(Buffer.from(certificate, "base64").toString("latin1"))
  if (blocks.length === 0) return "must contain at least one CERTIFICATE PEM block"
  for (const { label, bytes, hasHeaders } of blocks) {
    if (label !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`
    if (hasHeaders) return "no PEM block headers are permitted"
    if (bytes.length === 0) return "found CERTIFICATE PEM block containing 0 certificates"
    try {
      new X509Certificate(bytes)
    } catch {
      return "x509: malformed certificate"
    }
  }
  return undefined
}

/** Validates an update of the object, or of its `subresource`. */
export function changeFaults(
  { status }: RequestView,
  { status: old }: RequestView,
  subresource: "status" | "approval" | undefined,
): readonly Cause[] {
  const causes: Cause[] = []
  const quoted = (type: string) => JSON.stringify(type)
  for (const type of FINAL)
    if (ofType(status.conditions, type).length < ofType(old.conditions, type).length)
      causes.push(forbiddenField(CONDITIONS, `updates may not remove a condition of type ${quoted(type)}`))
  if (subresource !== "approval")
    for (const type of DECISIONS) {
      const [before, now] = [ofType(old.conditions, type), ofType(status.conditions, type)]
      if (now.length > before.length)
        causes.push(forbiddenField(CONDITIONS, `updates may not add a condition of type ${quoted(type)}`))
      else if (now.length === before.length && !deepEqual(now, before))
        causes.push(forbiddenField(CONDITIONS, `updates may not modify a condition of type ${quoted(type)}`))
    }
  if (status.certificate === old.certificate) return causes
  if (subresource !== "status")
    causes.push(forbiddenField("status.certificate", "updates may not set certificate content"))
  else if (old.certificate !== undefined)
    causes.push(forbiddenField("status.certificate", "updates may not modify existing certificate content"))
  return causes
}

const ofType = (
  conditions: readonly CertificateSigningRequestCondition[] = [],
  type: string,
): readonly CertificateSigningRequestCondition[] => conditions.filter((condition) => condition.type === type)
