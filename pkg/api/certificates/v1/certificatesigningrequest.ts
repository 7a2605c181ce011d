import { f } from "../../../apimachinery/fields.ts"
import { isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor, type StrategyContext } from "../../../apimachinery/resource.ts"
import { ageOf, humanDuration } from "../../../apimachinery/scalars/time.ts"
import { changeFaults, specFaults, statusFaults } from "./certificatesigningrequest-validation.ts"
import { CertificateSigningRequestSpec, CertificateSigningRequestStatus } from "./certificatesigningrequestspec.ts"

/**
 * Source: k8s.io/api certificates/v1/types.go, pkg/registry/certificates/certificates/strategy.go,
 * pkg/apis/certificates/validation.
 */

export const APPROVED = "Approved"
export const DENIED = "Denied"
export const FAILED = "Failed"
/** Signs certificates of clients of the API server. */
export const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
/** Signs certificates of nodes as clients of the API server. */
export const KUBELET_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
/** Signs serving certificates of kubelets. */
export const KUBELET_SERVING_SIGNER = "kubernetes.io/kubelet-serving"

const fields = {
  spec: f
    .message(2, CertificateSigningRequestSpec, "The requested certificate, and who requests it.")
    .required()
    .ownRule(),
  status: f
    .message(3, CertificateSigningRequestStatus, "Whether it is approved, and the certificate.")
    .always()
    .ownRule(),
}
export interface CertificateSigningRequest extends ObjectFor<typeof fields> {}

export const CertificateSigningRequest = defineResource(
  {
    group: "certificates.k8s.io",
    version: "v1",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    shortNames: ["csr"],
    scope: "Cluster",
    doc: "A request to a signer for a certificate. It must be approved before the signer issues the certificate.",
    upstreamChecks: { wholeMetadata: 1 },
    validateName: isPathSegmentName,
    ageColumn: false,
    columns: [
      {
        name: "Age",
        type: "string",
        doc: "Time since the request was created.",
        value: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now),
      },
      {
        name: "SignerName",
        type: "string",
        doc: "Name of the requested signer.",
        value: ({ spec }) => spec.signerName,
      },
      {
        name: "Requestor",
        type: "string",
        doc: "User who created the request.",
        value: ({ spec }) => spec.username ?? "",
      },
      {
        name: "RequestedDuration",
        type: "string",
        doc: "Requested validity of the certificate.",
        value: ({ spec: { expirationSeconds } }) =>
          expirationSeconds === undefined ? undefined : humanDuration(expirationSeconds * 1000),
      },
      { name: "Condition", type: "string", doc: "Whether it is approved and issued.", value: conditionText },
    ],
    fieldSelectors: { "spec.signerName": ({ spec }) => spec.signerName },
    resets: [["spec"]],
    subresources: {
      status: {
        resets: [["spec"], ["status", "conditions"]],
        prepareForUpdate: (request, old, context) => withTimes(withDecisionOf(request, old), old, context),
        validateUpdate: (request, old) => changeFaults(request, old, "status"),
      },
      other: {
        approval: {
          verbs: ["get", "patch", "update"],
          kind: "CertificateSigningRequest",
          strategy: {
            writesStatus: true,
            resets: [["spec"], ["status", "certificate"]],
            prepareForUpdate(request, old, context): CertificateSigningRequest {
              const { conditions } = withTimes(request, old, context).status
              const { conditions: _before, ...kept } = old.status
              return { ...request, spec: old.spec, status: { ...kept, ...(conditions && { conditions }) } }
            },
            validateUpdate: (request, old) => changeFaults(request, old, "approval"),
          },
        },
      },
    },
    prepareForCreate(request, { user }): CertificateSigningRequest {
      const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...spec } = request.spec
      return { ...request, spec: { ...spec, ...identityOf(user) }, status: {} }
    },
    prepareForUpdate: (request, old) => ({ ...request, spec: old.spec, status: old.status }),
    validateSpec: specFaults,
    validate: (request, old) => (request.status === old?.status ? [] : statusFaults(request)),
    validateUpdate: (request, old) => changeFaults(request, old, undefined),
  },
  fields,
)

/** Returns the fields with the user who created the request, by which signers and approvers decide. */
function identityOf(
  user: StrategyContext["user"],
): Pick<CertificateSigningRequestSpec, "username" | "uid" | "groups" | "extra"> {
  if (user === undefined) return {}
  const { name, uid = "", groups, extra = {} } = user
  return {
    ...(name === "" ? {} : { username: name }),
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

/** Restores the conditions Approved and Denied when their number is unchanged. */
function withDecisionOf(request: CertificateSigningRequest, old: CertificateSigningRequest): CertificateSigningRequest {
  const before = old.status.conditions ?? []
  let conditions = request.status.conditions
  for (const type of [APPROVED, DENIED]) {
    const kept = before.filter((condition) => condition.type === type)
    if (conditions?.filter((condition) => condition.type === type).length !== kept.length) continue
    let next = 0
    conditions = conditions.map((condition) => (condition.type === type ? kept[next++]! : condition))
  }
  return conditions === undefined ? request : { ...request, status: { ...request.status, conditions } }
}

/** Fills in missing times of conditions. */
function withTimes(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  { now }: StrategyContext,
): CertificateSigningRequest {
  const conditions = request.status.conditions?.map((condition) => ({
    ...condition,
    lastUpdateTime: condition.lastUpdateTime ?? now,
    lastTransitionTime:
      condition.lastTransitionTime ??
      old.status.conditions?.find(
        ({ type, status, lastTransitionTime }) =>
          type === condition.type && status === condition.status && lastTransitionTime !== null,
      )?.lastTransitionTime ??
      now,
  }))
  return conditions === undefined ? request : { ...request, status: { ...request.status, conditions } }
}

function conditionText({ status: { conditions = [], certificate } }: CertificateSigningRequest): string {
  const has = (wanted: string) => conditions.some(({ type }) => type === wanted)
  const decision = has(DENIED) ? DENIED : has(APPROVED) ? APPROVED : "Pending"
  return [decision, ...(has(FAILED) ? [FAILED] : []), ...(certificate === undefined ? [] : ["Issued"])].join(",")
}
