import { forbidden, notFound } from "../../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { timestamp, type Clock } from "../../../../pkg/clock/clock.ts"
import type { KindHooks } from "../context.ts"
import type { CustomResource } from "../../apiextensions/custom-resource.ts"
import { markedDeleting } from "../../apiextensions/finalizer.ts"
import type { Registrar } from "../../apiextensions/registrar.ts"

/**
 * What the registry does for definitions in addition: a deleted definition stays until its objects are gone, and a
 * write returns only when its kind is served.
 */
export const definitionHooks = (clock: Clock, registrar: () => Registrar): KindHooks => ({
  settled: ({ metadata }) => registrar().settled(metadata.name ?? ""),
  holdsDeletion: ({ metadata }) => metadata.deletionTimestamp === undefined,
  markDeleting: (object) => markedDeleting(object, timestamp(clock)),
})

const isCustom = (resource: Resource): resource is CustomResource => resource.definition !== undefined

/**
 * What the registry does for custom objects in addition: refuses a write at the last moment if the definition was
 * deleted, or deleted and created again, while the request was in progress.
 */
export function customHooks(registrar: () => Registrar): (resource: Resource) => KindHooks | undefined {
  const known = new WeakMap<Resource, KindHooks>()
  return (resource) => {
    if (!isCustom(resource)) return undefined
    let hooks = known.get(resource)
    if (hooks === undefined) known.set(resource, (hooks = hooksOf(resource, registrar)))
    return hooks
  }
}

const hooksOf = (resource: CustomResource, registrar: () => Registrar): KindHooks => ({
  checkWrite(_request, object, old) {
    if (old === undefined && resource.definition.terminating)
      throw forbidden(
        resource,
        object.metadata.name ?? "",
        "create not allowed while custom resource definition is terminating",
      )
  },
  alongside(next) {
    if (!registrar().stillServed(resource) && next !== undefined) throw notFound(resource, next.metadata.name ?? "")
    return []
  },
})
