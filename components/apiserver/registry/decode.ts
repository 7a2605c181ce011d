import { decodeObject } from "../../../pkg/apimachinery/decode.ts"
import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest } from "../request.ts"
import { foreignKind } from "./foreign-kind.ts"

/**
 * The body of a create or update as an object: typed, defaulted, in the namespace of the request. Unknown fields are
 * refused, warned of or dropped as asked. Values that it shares with `old`, a stored object, are not decoded again:
 * components change what they were given and send it back.
 */
export function decodeBody(request: ApiRequest, resource: Resource = request.resource, old?: KubeObject): KubeObject {
  return inNamespace(decodeSent(resource, request.body, request, old), request)
}

/**
 * JSON that a client sent as an object of a kind, which need not be that of the request; unknown fields are refused,
 * warned of or dropped as the request asks.
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
  return object
}

/**
 * Tells a client of what Strict would refuse, unless it asked not to be told. Those of a YAML parser come in one, a
 * line each.
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
 * The name in an object that is to be at the request's path. @throws ApiError BadRequest where it is another, or none.
 * Source: endpoints/handlers/rest.go checkName.
 */
export function checkName({ metadata }: KubeObject, { name = "" }: Pick<ApiRequest, "name">): void {
  if ((metadata.name ?? "") === "")
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
}

const emptyStatuses = new WeakMap<Resource, unknown>()

/** The status of an object that has none yet: the defaults of its fields. */
export function emptyStatus(resource: Resource): unknown {
  if (!emptyStatuses.has(resource))
    emptyStatuses.set(resource, (decodeObject(resource, {}).object as { readonly status?: unknown }).status)
  return emptyStatuses.get(resource)
}
