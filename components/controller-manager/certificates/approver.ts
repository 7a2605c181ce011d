import { SubjectAccessReview } from "../../../pkg/api/authorization/v1/subjectaccessreview.ts"
import {
  CertificateSigningRequest,
  KUBELET_CLIENT_SIGNER,
} from "../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { certificateRequestOf, isDecided, kubeletClientRefusal } from "./request-rules.ts"

/**
 * Approves client certificates of kubelets if the requester has the right to an automatic approval: for its own node
 * (`selfnodeclient`), or for any node (`nodeclient`). Source: pkg/controller/certificates/approver/sarapprove.go.
 */
export const certificateApprover = defineController<CertificateSigningRequest>({
  name: "certificatesigningrequest-approving-controller",
  reconciles: CertificateSigningRequest,
  concerns: ({ spec }) => spec.signerName === KUBELET_CLIENT_SIGNER,
  async reconcile(key, context) {
    const request = context.informers.of(CertificateSigningRequest).get(key)
    if (request === undefined || request.spec.signerName !== KUBELET_CLIENT_SIGNER) return
    if (request.status.certificate !== undefined || isDecided(request)) return
    const wanted = certificateRequestOf(request)
    if (kubeletClientRefusal(wanted, request.spec.usages ?? []) !== undefined) return
    const isItself = request.spec.username === wanted.commonName
    if (isItself && (await mayCreate(context, request, "selfnodeclient")))
      return approve(context, request, "Auto approving self kubelet client certificate after SubjectAccessReview.")
    if (await mayCreate(context, request, "nodeclient"))
      return approve(context, request, "Auto approving kubelet client certificate after SubjectAccessReview.")
  },
})

async function mayCreate(
  { client }: ReconcileContext,
  { spec: { username, uid, groups, extra } }: CertificateSigningRequest,
  subresource: string,
): Promise<boolean> {
  const review = await client.create(SubjectAccessReview, {
    spec: {
      ...(username === undefined ? {} : { user: username }),
      ...(uid === undefined ? {} : { uid }),
      ...(groups === undefined ? {} : { groups }),
      ...(extra === undefined ? {} : { extra }),
      resourceAttributes: {
        group: "certificates.k8s.io",
        version: "*",
        resource: "certificatesigningrequests",
        subresource,
        verb: "create",
      },
    },
  })
  return review.status.allowed
}

async function approve(
  { client }: ReconcileContext,
  request: CertificateSigningRequest,
  message: string,
): Promise<void> {
  const condition = { type: "Approved", status: "True", reason: "AutoApproved", message }
  const conditions = [...(request.status.conditions ?? []), condition]
  try {
    await client.updateSubresource(CertificateSigningRequest, request.metadata, "approval", {
      ...request,
      status: { ...request.status, conditions },
    })
  } catch (err) {
    if (!isConflict(err) && !isNotFound(err)) throw err // the change of the request starts another reconcile
  }
}
