import { nearest } from "../../names/suggest.ts"
import type { ObjectRef } from "../answer.ts"
import type { Kind } from "../reading/kinds.ts"
import type { Reader } from "../reading/reader.ts"

/** Returns as evidence what there is instead of an object that does not exist. */
export async function nearNames(
  reader: Reader,
  kind: Kind,
  { name, namespace }: Pick<ObjectRef, "name" | "namespace">,
): Promise<{ readonly evidence: readonly string[] }> {
  const all = (await reader.listIfAllowed(kind, namespace)) ?? []
  const near = nearest(
    name,
    all.map(({ metadata }) => metadata.name ?? ""),
  )
  if (near !== undefined) return { evidence: [`there is a ${kind.kind} ${near}`] }
  const elsewhere = kind.namespaced ? ((await reader.listIfAllowed(kind)) ?? []) : []
  return {
    evidence: elsewhere
      .filter(({ metadata }) => metadata.name === name)
      .map(({ metadata }) => `there is one of this name in namespace ${metadata.namespace ?? ""}`),
  }
}
