import type { ClusterTrustBundle } from "../../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Features } from "../../../../pkg/component/features.ts"
import { decidedBy } from "../../authorization/decisions.ts"
import type { AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { mayActForSigner } from "../../authorization/signers.ts"

/**
 * A user who writes a ClusterTrustBundle of a signer needs the right to attest for that signer. Source:
 * plugin/pkg/admission/certificates/ctbattest.
 */
export const clusterTrustBundleAttest = (
  { authorizer }: AdmissionContext,
  features: Features,
): AdmissionPlugin | undefined =>
  features.ClusterTrustBundle
    ? {
        name: "ClusterTrustBundleAttest",
        operations: ["CREATE", "UPDATE"],
        kinds: ["clustertrustbundles.certificates.k8s.io"],
        validate({ object, old, user, resource, name }) {
          // The declaration of the kind is loaded only where it is served.
          const { signerName = "" } = (object as ClusterTrustBundle).spec
          if (signerName === "" || (old !== undefined && changesOwnershipOnly(object!, old))) return undefined
          return decidedBy(authorizer, (decider) => {
            if (!mayActForSigner(decider, user, "attest", signerName))
              throw forbidden(
                resource,
                name,
                `user not permitted to attest for signerName ${JSON.stringify(signerName)}`,
              )
          })
        },
      }
    : undefined

/** Whether an update changes only what the garbage collector changes, or nothing. Source: pkg/registry/rbac/helpers.go. */
function changesOwnershipOnly(object: KubeObject, old: KubeObject): boolean {
  const { ownerReferences, finalizers, managedFields } = old.metadata
  return deepEqual({ ...object, metadata: { ...object.metadata, ownerReferences, finalizers, managedFields } }, old)
}
