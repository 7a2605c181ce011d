import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes, Operation } from "../admission/admission.ts"
import type { ApiRequest } from "../request.ts"
import type { RegistryContext } from "./context.ts"

/** What admission is told of a request. `name` is given where it is the object's and stands not in the path. */
export const admissionAttributes = (
  { resource, subresource, namespace, name: asked = "", user, options, warn, annotate }: ApiRequest,
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
})

/** The request as one about the whole object: what a subresource makes or takes away is that. */
export const aboutWhole = (request: ApiRequest): ApiRequest =>
  request.subresource === undefined ? request : { ...request, subresource: undefined }

/**
 * Admission of a POST to a subresource, whose body is an object of a kind of its own: a binding, an eviction. Gives the
 * body as admission leaves it.
 */
export async function admitBody<T extends KubeObject>(
  { admission }: RegistryContext,
  request: ApiRequest,
  body: T,
): Promise<T> {
  const attributes = admissionAttributes(request, "CREATE", body, undefined)
  const object = (await admission.admit(attributes)) ?? body
  await admission.validate({ ...attributes, object })
  return object as T
}
