import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../admission.ts"
import { isPending } from "../../call/maybe-promise.ts"

/**
 * Returns a function that finds the other resources under which objects of a resource are served; Events, for example,
 * are served in two groups. Results are cached until the scheme changes, since every webhook and policy needs them for
 * every request.
 */
export function equivalentsIn(scheme: Scheme): (resource: Resource) => readonly Resource[] {
  let known = new WeakMap<Resource, readonly Resource[]>()
  let generation = -1
  return (resource) => {
    if (scheme.generation !== generation) {
      known = new WeakMap()
      generation = scheme.generation
    }
    let found = known.get(resource)
    if (found === undefined) {
      const kind = storedKind(resource)
      found = scheme.resources.filter((other) => other !== resource && storedKind(other) === kind)
      known.set(resource, found)
    }
    return found
  }
}

const storedKind = ({ storedAs, group, version, kind }: Resource): string =>
  storedAs === undefined ? `${group}/${version} ${kind}` : `${storedAs.group}/${storedAs.version} ${storedAs.kind}`

/** The objects of a request, converted to the version that a webhook or a policy matched. */
export interface Seen {
  readonly object: KubeObject | undefined
  readonly old: KubeObject | undefined
}

/**
 * Converts the objects of a request to those of an equivalent resource.
 * @throws ApiError when a conversion webhook fails
 */
export function seenAs(
  { object, old, resource: own }: Pick<AdmissionAttributes, "object" | "old" | "resource">,
  resource: Resource,
): Seen | Promise<Seen> {
  if (resource === own) return { object, old }
  const [next, before] = [convertBetween(object, own, resource), convertBetween(old, own, resource)]
  return isPending(next) || isPending(before)
    ? Promise.all([next, before]).then(([object, old]) => ({ object, old }))
    : { object: next, old: before }
}

/** Converts the objects of a request to those of each resource in `resources`. */
export function allSeenAs(
  attributes: AdmissionAttributes,
  resources: Iterable<Resource>,
): ReadonlyMap<Resource, Seen> | Promise<ReadonlyMap<Resource, Seen>> {
  const wanted = [...new Set(resources)]
  const seen = wanted.map((resource) => seenAs(attributes, resource))
  const byResource = (all: readonly Seen[]) => new Map(wanted.map((resource, i) => [resource, all[i]!]))
  return seen.some(isPending)
    ? Promise.all(seen.map(async (each) => each)).then(byResource)
    : byResource(seen as readonly Seen[])
}

/** Converts an object of one resource to the other. Bodies of subresources are returned as they are. */
export function convertBetween(
  object: KubeObject | undefined,
  from: Resource,
  to: Resource,
): KubeObject | undefined | Promise<KubeObject | undefined> {
  if (object === undefined || from === to || object.kind !== from.kind || object.apiVersion !== from.apiVersion)
    return object
  const { convert, fromStored } = to.storedAs ?? {}
  if (convert !== undefined) return convert([object], to.apiVersion).then(([converted]) => fromStored!(converted!))
  const stored = from.storedAs?.toStored(object) ?? object
  return fromStored?.(stored) ?? stored
}
