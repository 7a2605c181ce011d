import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { isOfKubelet } from "../../../../../pkg/api/core/v1/node/node-labels.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/json/equal.ts"
import { forbidden } from "../../../../../pkg/apimachinery/errors.ts"
import { asKind, type KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../../admission.ts"

/**
 * Allows a node to write its own Node, except taints, owner references and labels that only administrators may set.
 * Differs from upstream: also except the ranges of its pods, since other nodes send there what is for these ranges.
 */
export function checkNode({ operation, resource, name, object, old }: AdmissionAttributes, node: string): void {
  const refuse = (why: string) => forbidden(resource, name, why)
  if (name !== node) throw refuse(`node ${JSON.stringify(node)} is not allowed to modify node ${JSON.stringify(name)}`)
  if (operation === "DELETE") return // RBAC and the node authorizer refuse deletions before admission
  if (!deepEqual(rangesOf(object), operation === "CREATE" ? [] : rangesOf(old)))
    throw refuse(`node ${JSON.stringify(node)} is not allowed to set spec.podCIDRs`)
  const changed = changedLabels(object, operation === "CREATE" ? undefined : old).filter((key) => !isOfKubelet(key))
  if (operation === "CREATE") {
    if (changed.length > 0)
      throw refuse(`node ${JSON.stringify(node)} is not allowed to set the following labels: ${changed.join(", ")}`)
    return
  }
  if (!deepEqual(taintsOf(object), taintsOf(old)))
    throw refuse(`node ${JSON.stringify(node)} is not allowed to modify taints`)
  if (!deepEqual(object?.metadata.ownerReferences ?? [], old?.metadata.ownerReferences ?? []))
    throw refuse(`node ${JSON.stringify(node)} is not allowed to modify ownerReferences`)
  if (changed.length > 0) throw refuse(`is not allowed to modify labels: ${changed.join(", ")}`)
}

const taintsOf = (object: KubeObject | undefined) => asKind(Node, object).spec.taints ?? []

const rangesOf = (object: KubeObject | undefined) => asKind(Node, object).spec.podCIDRs ?? []

function changedLabels(object: KubeObject | undefined, old: KubeObject | undefined): readonly string[] {
  const [now = {}, before = {}] = [object?.metadata.labels, old?.metadata.labels]
  return Object.keys({ ...now, ...before })
    .filter((key) => now[key] !== before[key])
    .sort()
}
