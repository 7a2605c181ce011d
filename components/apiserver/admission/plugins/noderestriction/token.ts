import { TokenRequest } from "../../../../../pkg/api/authentication/v1/tokenrequest.ts"
import { PersistentVolume } from "../../../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { CSIDriver } from "../../../../../pkg/api/storage/v1/csidriver.ts"
import { forbidden, notFound } from "../../../../../pkg/apimachinery/errors.ts"
import { asKind } from "../../../../../pkg/apimachinery/resource.ts"
import type { Decider } from "../../../authorization/authorizer.ts"
import { decidedBy } from "../../../authorization/decisions.ts"
import type { MaybePromise } from "../../../call/maybe-promise.ts"
import type { Objects } from "../../../cacher/objects.ts"
import type { AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"

/**
 * Allows a node to request tokens that are bound to pods on that node, for an audience that a volume of the pod names
 * or that RBAC allows.
 */
export function checkToken(
  attributes: AdmissionAttributes,
  node: string,
  { objects, authorizer }: AdmissionContext,
): MaybePromise<void> {
  return decidedBy(authorizer, (decider) => check(attributes, node, objects, decider))
}

function check(
  { resource, name, namespace, object, user }: AdmissionAttributes,
  node: string,
  objects: Objects,
  decider: Decider,
): void {
  const refuse = (why: string) => forbidden(resource, name, why)
  const { boundObjectRef: ref, audiences } = asKind(TokenRequest, object).spec
  if (ref?.apiVersion !== "v1" || ref.kind !== "Pod" || !ref.name)
    throw refuse("node requested token not bound to a pod")
  if (!ref.uid) throw refuse("node requested token with a pod binding without a uid")
  const pod = objects.get(Pod, { namespace, name: ref.name })
  if (pod === undefined) throw notFound(Pod, ref.name)
  if (pod.metadata.uid !== ref.uid)
    throw refuse(
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might ` +
        "have been deleted and then recreated",
    )
  if (pod.spec.nodeName !== node) throw refuse("node requested token bound to a pod scheduled on a different node")
  const [audience = "", ...more] = audiences
  if (more.length > 0) throw refuse("node may only request 0 or 1 audiences")
  if (isNamed(pod, audience, objects)) return
  const { allowed } = decider.authorize({
    user,
    verb: "request-serviceaccounts-token-audience",
    group: "",
    version: "v1",
    resource: audience,
    namespace,
    name,
  })
  if (!allowed)
    throw refuse(
      `audience ${JSON.stringify(audience)} not found in pod spec volume, ${user.name} is not authorized to ` +
        "request tokens for this audience",
    )
}

/** Whether a projected token of the pod, or the driver of one of its CSI volumes, names this audience. */
function isNamed({ metadata, spec }: Pod, audience: string, objects: Objects): boolean {
  const ofClaim = (name: string): string | undefined => {
    const claim = objects.get(PersistentVolumeClaim, { namespace: metadata.namespace, name })
    return claim === undefined
      ? undefined
      : objects.get(PersistentVolume, { name: claim.spec.volumeName })?.spec.csi?.driver
  }
  return (spec.volumes ?? []).some(({ name, projected, csi, persistentVolumeClaim, ephemeral }) => {
    if (
      projected?.sources?.some(
        ({ serviceAccountToken }) =>
          serviceAccountToken !== undefined && (serviceAccountToken.audience ?? "") === audience,
      ) === true
    )
      return true
    const driver =
      csi?.driver ??
      (persistentVolumeClaim !== undefined
        ? ofClaim(persistentVolumeClaim.claimName)
        : ephemeral !== undefined
          ? ofClaim(`${metadata.name}-${name}`)
          : undefined)
    return (
      driver !== undefined &&
      objects.get(CSIDriver, { name: driver })?.spec.tokenRequests?.some((request) => request.audience === audience) ===
        true
    )
  })
}
