import { invalid, notFound, type Cause } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest } from "../request.ts"
import { admissionAttributes } from "./admission-attributes.ts"
import type { RegistryContext } from "./context.ts"
import { guaranteedUpdate, type Outcome } from "./guaranteed-update.ts"
import { unstored } from "./unstored.ts"

/** How a subresource changes the object it belongs to. */
export interface SubresourceChange {
  /** The changed object, or nothing when it already is as wanted. Throws ApiError to refuse. */
  change(old: KubeObject): KubeObject | undefined
  validate?(object: KubeObject, old: KubeObject): readonly Cause[]
  /** Whether the object goes with this change. */
  removes?(object: KubeObject): boolean
}

/**
 * Changes the object that a request to one of its subresources is about, again from the start when somebody else was
 * faster.
 */
export function updateBySubresource(
  context: RegistryContext,
  request: ApiRequest,
  { change, validate, removes }: SubresourceChange,
): Promise<Outcome> {
  const { resource, name = "", options, verb } = request
  return guaranteedUpdate(context, request, async (current) => {
    if (current === undefined) throw notFound(resource, name)
    const object = change(current.object)
    if (object === undefined) return { keep: current }
    const causes = validate?.(object, current.object) ?? []
    if (causes.length > 0) throw invalid(resource, name, causes)
    // A POST creates something else than this object (a binding, an eviction): it is no update of it to admission.
    if (verb === "update" || verb === "patch")
      await context.admission.validate(admissionAttributes(request, "UPDATE", object, current.object))
    if (options.dryRun === true) return { pretend: unstored(current.key, object) }
    return removes?.(object) === true ? { remove: true } : { write: object }
  })
}
