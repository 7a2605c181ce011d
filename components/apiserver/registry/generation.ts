import { equalBeside } from "../../../pkg/apimachinery/json/equal.ts"
import type { ObjectMeta } from "../../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"

/** Returns metadata.generation of a new object, to be spread into its metadata; empty for kinds without generations. */
export function firstGeneration({ generation }: Resource): Pick<ObjectMeta, "generation"> {
  if (generation === undefined || (generation !== true && generation.first === "sent")) return {}
  return generation !== true && generation.first === 0 ? { generation: undefined } : { generation: 1 }
}

/** Returns a changed object with its new generation. */
export function withGeneration({ generation }: Resource, object: KubeObject, old: KubeObject): KubeObject {
  if (generation === undefined) return object
  const counts = generation === true ? undefined : generation.counts
  if (counts === undefined ? equalBeside(object, old, METADATA_AND_STATUS) : !counts(object, old)) return object
  return { ...object, metadata: { ...object.metadata, generation: (old.metadata.generation ?? 0) + 1 } }
}
const METADATA_AND_STATUS: readonly string[] = ["metadata", "status"]
