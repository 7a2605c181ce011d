import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../admission/admission.ts"
import type { Operation } from "../webhooks/review.ts"
import type { ApiRequest } from "../call/request.ts"
import type { RegistryContext } from "./context.ts"

/** Returns the attributes of a request for admission. `name` is given when the name is not in the path. */
export const admissionAttributes = (
  { resource, subresource, namespace, name: asked = "", user, options, warn, annotate, waited }: ApiRequest,
  operation: Operation,
  object: KubeObject | undefined,
  old: KubeObject | undefined,
  name: string = asked,
): AdmissionAttributes => ({
  operation,
  resource,
  subresource,
  namespace,
  name,
  user,
  options,
  object,
  old,
  warn,
  annotate,
  waited,
})

/** Returns the request as one about the whole object, for subresources that create or delete it. */
export const aboutWhole = (request: ApiRequest): ApiRequest =>
  request.subresource === undefined ? request : { ...request, subresource: undefined }

/**
 * Runs admission for a POST to a subresource, whose body is an object of its own kind: a binding, an eviction. Returns
 * the body as admission leaves it, after `check` has found no fault in it.
 */
export async function admitBody<T extends KubeObject>(
  { admission }: RegistryContext,
  request: ApiRequest,
  body: T,
  check?: (admitted: T) => void,
): Promise<T> {
  const { namespace = "" } = request
  // Source: apiserver pkg/endpoints/handlers/create.go, which fills it in as for other objects.
  const { namespace: sent = "" } = body.metadata
  const placed = namespace === "" || sent !== "" ? body : { ...body, metadata: { ...body.metadata, namespace } }
  const attributes = admissionAttributes(request, "CREATE", placed, undefined)
  const object = (await admission.admit(attributes)) ?? placed
  check?.(object as T)
  await admission.validate({ ...attributes, object })
  return object as T
}
