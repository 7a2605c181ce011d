import type { PodCertificateRequest } from "../../../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"

import { ServiceAccount } from "../../../../../pkg/api/core/v1/serviceaccount.ts"
import { ApiError, forbidden } from "../../../../../pkg/apimachinery/errors.ts"
import type { AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"
import { isMirror } from "../pods.ts"

/**
 * Allows a node to request certificates for pods that run on it, each with the pod's own service account. Source:
 * admitPodCertificateRequest of plugin/pkg/admission/noderestriction.
 */
export function checkPodCertificateRequest(
  { resource, name, operation, subresource, namespace, object }: AdmissionAttributes,
  node: string,
  { objects }: AdmissionContext,
): void {
  const refuse = (why: string) => forbidden(resource, name, why)
  if (operation !== "CREATE") throw refuse(`unexpected operation ${operation}`)
  if (subresource !== undefined) throw refuse(`unexpected subresource ${subresource}`)
  // The declaration of the kind is loaded only where it is served.
  const { spec } = object as PodCertificateRequest
  const quoted = JSON.stringify
  if (spec.nodeName !== node)
    throw refuse(
      `PodCertificateRequest.Spec.NodeName=${quoted(spec.nodeName)}, which is not the requesting node ${quoted(node)}`,
    )
  const place = quoted(`${namespace ?? ""}/${spec.podName}`)
  const stored = objects.get(Node, { name: node })
  if (stored === undefined) throw unready(`node ${quoted(node)} named in the PodCertificateRequest not found`)
  if (stored.metadata.uid !== spec.nodeUID)
    throw unready(
      `PodCertificateRequest for pod ${place} names node UID ${quoted(spec.nodeUID)}, inconsistent with the running ` +
        `node (${quoted(stored.metadata.uid)})`,
    )
  const pod = objects.get(Pod, { namespace, name: spec.podName })
  if (pod === undefined) throw unready(`pod ${place} named in the PodCertificateRequest not found`)
  if (pod.metadata.uid !== spec.podUID)
    throw unready(
      `PodCertificateRequest for pod ${place} contains pod UID (${quoted(spec.podUID)}) which differs from running ` +
        `pod ${quoted(pod.metadata.uid)}`,
    )
  if (pod.spec.nodeName !== node)
    throw refuse(`pod ${place} is not running on node ${quoted(node)} named in the PodCertificateRequest`)
  if (isMirror(pod)) throw refuse(`pod ${place} is a mirror pod`)
  if (pod.spec.serviceAccountName !== spec.serviceAccountName)
    throw refuse(
      `PodCertificateRequest for pod ${place} contains serviceAccountName (${quoted(spec.serviceAccountName)}) that ` +
        `differs from running pod (${quoted(pod.spec.serviceAccountName)})`,
    )
  const account = objects.get(ServiceAccount, { namespace, name: spec.serviceAccountName })
  if (account?.metadata.uid !== spec.serviceAccountUID)
    throw unready(
      `PodCertificateRequest for pod ${place} names service account UID ${quoted(spec.serviceAccountUID)}, which ` +
        `differs from the running service account (${quoted(account?.metadata.uid ?? "")})`,
    )
}

/** As upstream: no refusal, because what is not known yet may be true in a moment. */
const unready = (why: string): ApiError => new ApiError("InternalError", why)
