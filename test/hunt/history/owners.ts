import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

/**
 * A new object's controller exists, or existed until a moment ago, and has the name and kind that the reference says.
 * Source: apimachinery pkg/apis/meta/v1 NewControllerRef; controllers do not create for what is gone.
 */
export const hasItsOwner: WriteInvariant = ({ type, object, author }, seen) => {
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (type !== "create" || owner === undefined || owner.kind === "Node" || !author.startsWith("system:")) return []
  const known = seen.recent(owner.kind, owner.uid)
  if (known.length === 0) return [`${nameOf(object)} was created for ${owner.kind} ${owner.name}, which is not there`]
  return known.some(({ metadata }) => metadata.name === owner.name && metadata.namespace === object.metadata.namespace)
    ? []
    : [`${nameOf(object)} was created for ${owner.kind} ${owner.name}, but its UID is that of ${nameOf(known[0]!)}`]
}
