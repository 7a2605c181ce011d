import { Buffer } from "node:buffer"
import {
  CertificateSigningRequest,
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING_SIGNER,
} from "../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { defineController, type Controller, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import type { Validity } from "../../../pkg/pki/certificate.ts"
import type { CertificateRequest } from "../../../pkg/pki/request/certificate-request.ts"
import { MEMBERSHIP_EXTRA } from "../../../pkg/pki/node-membership.ts"
import { foreignName, NAMED } from "./serving-names.ts"
import { certificateRequestOf, hasFailed, isApproved, signerOf } from "./request-rules.ts"

/** Signs a request with one of the cluster's authorities; returns the certificate as PEM. */
export type Certify = (
  authority: "client-ca" | "server-ca",
  request: CertificateRequest,
  options: { readonly usages: readonly string[]; readonly validity: Validity },
) => string

const MINUTE = 60_000
/** A certificate is valid from a little before now, for clocks that are behind. */
const BACKDATE = 5 * MINUTE
/** A certificate with a shorter life ends BACKDATE later, so that the early start does not shorten it. */
const SHORT = 8 * 60 * MINUTE
const LONGEST = 365 * 24 * 60 * MINUTE
const SHORTEST = 10 * MINUTE

/**
 * Signs approved requests for the signers that are built into Kubernetes, or records why not. Source:
 * pkg/controller/certificates/signer/signer.go.
 */
export const certificateSigner = (certify: Certify, longest = LONGEST): Controller<CertificateSigningRequest> =>
  defineController<CertificateSigningRequest>({
    name: "certificatesigningrequest-signing-controller",
    reconciles: CertificateSigningRequest,
    watches: NAMED.map((resource) => ({ resource, keys: () => [] })),
    async reconcile(key, context) {
      const request = context.informers.of(CertificateSigningRequest).get(key)
      const signer = request && signerOf(request)
      if (request === undefined || signer === undefined || !isApproved(request) || hasFailed(request)) return
      if (request.status.certificate !== undefined) return
      const wanted = certificateRequestOf(request)
      const usages = request.spec.usages ?? []
      const refusal = signer.refusal(wanted, usages) ?? namesRefusal(request, wanted, context)
      if (refusal !== undefined) return writeStatus(context, failed(request, refusal, timestamp(context.clock)))
      const now = context.clock.now()
      const ttl = lifeOf(request, longest)
      const validity = {
        notBefore: new Date(now - BACKDATE),
        notAfter: new Date(now + (ttl < SHORT ? ttl : ttl - BACKDATE)),
      }
      const pem = certify(signer.authority, withMembership(wanted, request), { usages, validity })
      const certificate = Buffer.from(pem).toString("base64")
      return writeStatus(context, { ...request, status: { ...request.status, certificate } })
    },
  })

function namesRefusal(
  { spec }: CertificateSigningRequest,
  wanted: CertificateRequest,
  context: ReconcileContext,
): string | undefined {
  const foreign = spec.signerName === KUBELET_SERVING_SIGNER ? foreignName(wanted, context) : undefined
  return foreign && `subjectAltName ${JSON.stringify(foreign)} is not one of the node ${wanted.commonName}`
}

/**
 * A kubelet's further certificate ends with the membership of its machine, as the one did by which it asked. Differs
 * from upstream, which knows no membership.
 */
function withMembership(wanted: CertificateRequest, { spec }: CertificateSigningRequest): CertificateRequest {
  const memberships = spec.signerName === KUBELET_CLIENT_SIGNER ? (spec.extra?.[MEMBERSHIP_EXTRA] ?? []) : []
  return { ...wanted, uris: [...wanted.uris, ...memberships] }
}

function lifeOf({ spec: { expirationSeconds } }: CertificateSigningRequest, longest: number): number {
  if (expirationSeconds === undefined) return longest
  return Math.max(SHORTEST, Math.min(longest, expirationSeconds * 1000))
}

function failed(request: CertificateSigningRequest, message: string, now: string): CertificateSigningRequest {
  const condition = {
    type: "Failed",
    status: "True",
    reason: "SignerValidationFailure",
    message,
    lastUpdateTime: now,
    lastTransitionTime: null,
  }
  return { ...request, status: { ...request.status, conditions: [...(request.status.conditions ?? []), condition] } }
}

async function writeStatus({ client }: ReconcileContext, request: CertificateSigningRequest): Promise<void> {
  try {
    await client.updateStatus(CertificateSigningRequest, request)
  } catch (err) {
    if (!isConflict(err) && !isNotFound(err)) throw err // the change of the request starts another reconcile
  }
}
