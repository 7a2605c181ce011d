import { invalid, notFound, type Cause } from "../../../pkg/apimachinery/errors.ts"
import { asKind, type KubeObject, type Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest } from "../call/request.ts"
import { admissionAttributes } from "./admission-attributes.ts"
import type { RegistryContext } from "./context.ts"
import { guaranteedUpdate, type Outcome } from "./guaranteed-update.ts"
import { recordUpdate } from "./managed-fields/managed-fields.ts"
import { dryRunOf } from "./unstored.ts"

/** How a write to a subresource changes its object. */
export interface SubresourceChange<T extends KubeObject> {
  /** Returns the changed object; undefined when nothing is to be changed. Throws ApiError to refuse. */
  change(old: T): T | undefined
  validate?(object: T, old: T): readonly Cause[]
  /** Whether the change removes the object from the store. */
  removes?(object: T): boolean
  /** Whether managedFields show who has changed what. */
  readonly isTracked?: true
}

/**
 * Changes the object of a request to one of its subresources. The change is made again from the start when another
 * write came first.
 */
export function updateBySubresource<T extends KubeObject>(
  context: RegistryContext,
  resource: Resource<T>,
  request: ApiRequest,
  { change, validate, removes, isTracked }: SubresourceChange<T>,
): Promise<Outcome> {
  const { name = "", options, verb } = request
  return guaranteedUpdate(context, { ...request, resource: resource as Resource }, async (current) => {
    if (current === undefined) throw notFound(resource, name)
    const old = asKind(resource, current.object)
    const changed = change(old)
    if (changed === undefined) return { keep: current }
    const object = isTracked === true ? ((await recordUpdate(context, request, changed, old)) as T) : changed
    const causes = validate?.(object, old) ?? []
    if (causes.length > 0) throw invalid(resource, name, causes)
    // A POST creates another object (a binding, an eviction), so admission does not see it as an update of this one.
    if (verb === "update" || verb === "patch")
      await context.admission.validate(admissionAttributes(request, "UPDATE", object, old))
    if (options.dryRun === true) return { dryRun: await dryRunOf(resource as Resource, current.key, object) }
    return removes?.(object) === true ? { remove: true } : { write: object }
  })
}
