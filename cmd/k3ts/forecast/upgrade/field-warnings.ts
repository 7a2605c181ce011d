import { RESOURCES } from "../../../../pkg/api/resources.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { OWN_MANAGERS } from "./api-usage.ts"

/** A warning about fields, as an API server gives it to who writes them. */
export interface FieldWarning {
  readonly message: string
  /** `Deployment team/web`. */
  readonly objects: readonly string[]
}

/** Words of warnings about what later releases may not have. */
const ENDS = /deprecated|non-functional|no longer|removed|will be ignored/i

/** Returns warnings about deprecated fields of objects, each with all that have it but those of a controller. */
export function fieldWarnings(objects: readonly KubeObject[]): readonly FieldWarning[] {
  const found = new Map<string, string[]>()
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object
    if (metadata.ownerReferences?.some(({ controller }) => controller === true) === true) continue
    // What only the control plane writes is upgraded with it.
    if ((metadata.managedFields ?? []).every(({ manager = "" }) => OWN_MANAGERS.test(manager))) continue
    const resource = RESOURCES.find((one) => one.kind === kind && versionOf(one) === apiVersion)
    const name = `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name ?? ""}`
    for (const message of warningsOf(resource, object)) {
      const known = found.get(message)
      if (known === undefined) found.set(message, [name])
      else known.push(name)
    }
  }
  return [...found].map(([message, names]) => ({ message, objects: names }))
}

function warningsOf(resource: (typeof RESOURCES)[number] | undefined, object: KubeObject): readonly string[] {
  try {
    const all = [resource?.deprecated ?? [], resource?.warnings?.(object as never, undefined) ?? []].flat()
    return all.filter((message) => ENDS.test(message))
  } catch {
    // An object of another version of Kubernetes may lack what the warnings of this one look at.
    return []
  }
}

const versionOf = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group === "" ? version : `${group}/${version}`
