import type { OwnerReference } from "../../../../pkg/apimachinery/meta.ts"
import { forbidden, qualified } from "../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { Decider } from "../../authorization/authorizer.ts"
import { decidedBy } from "../../authorization/decisions.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

/**
 * Lets users change the owners of an object only if they may delete the object, and block the deletion of an owner only
 * if they may set its finalizers: the garbage collector does both for them. Source: plugin/pkg/admission/gc.
 */
export const ownerReferencesPermissionEnforcement = (
  { authorizer }: AdmissionContext,
  scheme: Pick<Scheme, "of">,
): AdmissionPlugin => ({
  name: "OwnerReferencesPermissionEnforcement",
  operations: ["CREATE", "UPDATE"],
  validate: (attributes) => decidedBy(authorizer, (decider) => check(decider, attributes, scheme)),
})

function check(decider: Decider, attributes: AdmissionAttributes, scheme: Pick<Scheme, "of">): void {
  const { operation, resource, subresource, namespace, name, user, object, old } = attributes
  // The strategy of this subresource keeps owners as they are.
  if (qualified(resource) === "pods" && subresource === "status") return
  if (object === undefined || !changesOwners(object, old)) return
  if (operation !== "CREATE") {
    const { group, version, plural } = resource
    const what = { user, verb: "delete", group, version, resource: plural, subresource, namespace, name }
    const { allowed, reason } = decider.authorize(what)
    if (!allowed) throw refused(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`)
  }
  const blocking = newlyBlocking(object, old)
  if (blocking.length === 0) return
  const finalizers = { user, verb: "update", subresource: "finalizers" }
  if (decider.authorize({ ...finalizers, group: "*", version: "*", resource: "*", name: "*" }).allowed) return
  for (const { apiVersion, kind, name: owner } of blocking) {
    const mapped = scheme.of(apiVersion, kind)
    if (mapped === undefined)
      throw refused(
        attributes,
        `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} ` +
          `Kind ${kind}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
      )
    const { group, version, plural, scope } = mapped
    const of = { ...finalizers, group, version, resource: plural, name: owner }
    const { allowed, reason } = decider.authorize({
      ...of,
      namespace: scope === "Cluster" ? undefined : namespace,
    })
    if (!allowed)
      throw refused(
        attributes,
        `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}, <nil>`,
      )
  }
}

const refused = ({ resource, name }: AdmissionAttributes, why: string) => forbidden(resource, name, why)

const ownersOf = (object: KubeObject | undefined): readonly OwnerReference[] => object?.metadata.ownerReferences ?? []

const changesOwners = (object: KubeObject, old: KubeObject | undefined): boolean =>
  !deepEqual(ownersOf(object), ownersOf(old))

/** Returns the owners whose deletion the object blocks, and has not blocked before. */
function newlyBlocking(object: KubeObject, old: KubeObject | undefined): readonly OwnerReference[] {
  const before = new Map(ownersOf(old).map(({ uid, blockOwnerDeletion }) => [uid, blockOwnerDeletion]))
  return ownersOf(object).filter(
    ({ uid, blockOwnerDeletion }) => blockOwnerDeletion === true && before.get(uid) !== true,
  )
}
