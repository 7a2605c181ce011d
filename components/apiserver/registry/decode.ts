import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest } from "../call/request.ts"
import { foreignKind } from "./foreign-kind.ts"

/**
 * Decodes the body of a create or update into an object with defaults, in the namespace of the request. Unknown fields
 * are refused, warned about or dropped as the request says. Values that the body shares with `old`, a stored object,
 * are not decoded again: components change a cached object and send it back.
 */
export function decodeBody(request: ApiRequest, resource: Resource = request.resource, old?: KubeObject): KubeObject {
  return inNamespace(decodeSent(resource, request.body, request, old), request)
}

/**
 * Decodes JSON that a client sent into an object of a kind, which may differ from that of the request. Unknown fields
 * are refused, warned about or dropped as the request says.
 */
export function decodeSent<T extends KubeObject>(
  resource: Resource<T>,
  body: unknown,
  request: ApiRequest,
  old?: KubeObject,
): T {
  const { fieldValidation } = request.options
  const { bodyFaults } = request
  const { object, faults } = decodeObject(resource, body ?? {}, {
    fieldValidation,
    bodyFaults,
    old,
    foreign: foreignKind,
  })
  warnOf(faults, request)
  request.requested?.(object)
  return object
}

/**
 * Warns a client about faults that Strict would refuse, unless it asked to ignore them. The faults of the YAML parser
 * come as one text with a line for each.
 */
export function warnOf(faults: readonly string[], { options, warn }: ApiRequest): void {
  if (options.fieldValidation === "Ignore") return
  for (const fault of faults)
    for (const line of fault.startsWith(YAML_FAULTS) ? fault.slice(YAML_FAULTS.length).split("\n") : [fault])
      warn(line.trim())
}
const YAML_FAULTS = "yaml: unmarshal errors:\n"

/** Source: registry/rest/meta.go EnsureObjectNamespaceMatchesRequestNamespace. */
export function inNamespace(
  object: KubeObject,
  { resource, namespace }: Pick<ApiRequest, "resource" | "namespace">,
): KubeObject {
  const own = object.metadata.namespace ?? ""
  const wanted = resource.scope === "Namespaced" ? (namespace ?? "") : ""
  if (own === wanted) return object
  // A namespace given for a cluster-wide kind is dropped, as upstream drops it.
  if (own === "" || wanted === "")
    return { ...object, metadata: { ...object.metadata, namespace: wanted === "" ? undefined : wanted } }
  throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`)
}

/**
 * Checks the name of an object against the path.
 * @throws ApiError BadRequest when the name differs or is empty. Source: endpoints/handlers/rest.go checkName.
 */
export function checkName({ metadata }: KubeObject, { name = "" }: Pick<ApiRequest, "name">): void {
  if ((metadata.name ?? "") === "")
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
}

const emptyStatuses = new WeakMap<Resource, unknown>()

/** Returns the status of an object without one: the defaults of its fields. */
export function emptyStatus(resource: Resource): unknown {
  if (!emptyStatuses.has(resource))
    emptyStatuses.set(resource, (decodeObject(resource, {}).object as { readonly status?: unknown }).status)
  return emptyStatuses.get(resource)
}
