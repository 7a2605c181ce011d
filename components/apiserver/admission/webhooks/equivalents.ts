import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"

/** Other resources under which the same objects are served: Events have two groups. */
export const equivalentsIn =
  (scheme: Scheme) =>
  (resource: Resource): readonly Resource[] =>
    scheme.resources.filter((other) => other !== resource && storedKind(other) === storedKind(resource))

const storedKind = ({ storedAs, group, version, kind }: Resource): string =>
  storedAs === undefined ? `${group}/${version} ${kind}` : `${storedAs.group}/${storedAs.version} ${storedAs.kind}`

/** An object of one resource as the other shows it. Bodies of subresources have one form only. */
export function convertBetween(object: KubeObject | undefined, from: Resource, to: Resource): KubeObject | undefined {
  if (object === undefined || from === to || object.kind !== from.kind || object.apiVersion !== from.apiVersion)
    return object
  const stored = from.storedAs?.toStored(object) ?? object
  return to.storedAs?.fromStored(stored) ?? stored
}
