import type { Resource } from "../apimachinery/resource.ts"
import type { ApiCall, Patch, WatchOptions } from "./client.ts"

/** Returns the path of a collection, an object or a subresource. */
export function pathOf(
  { group, version, plural, scope }: Resource,
  { namespace, name, subresource }: Pick<ApiCall, "namespace" | "name" | "subresource">,
): string {
  const parts = [group === "" ? "/api" : `/apis/${group}`, version]
  if (scope === "Namespaced" && namespace !== undefined && namespace !== "")
    parts.push("namespaces", encodeURIComponent(namespace))
  parts.push(plural)
  if (name !== undefined && name !== "") parts.push(encodeURIComponent(name))
  if (subresource !== undefined) parts.push(subresource)
  return parts.join("/")
}

/** Returns the options that go into the query. Those of a deletion go into its body. */
export function queryOf({
  namespace: _namespace,
  dryRun,
  gracePeriodSeconds: _grace,
  propagationPolicy: _policy,
  preconditions: _preconditions,
  ...options
}: NonNullable<ApiCall["options"]> & WatchOptions): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(options)) if (value !== undefined) query.set(name, String(value))
  if (dryRun === true) query.set("dryRun", "All")
  const text = query.toString()
  return text === "" ? "" : `?${text}`
}

export const METHOD = {
  get: "GET",
  list: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
} as const

/** Source: apimachinery pkg/types/patch.go. */
export const PATCH_TYPE: Readonly<Record<Patch["type"], string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
}

/** Returns the body of a call as a value; undefined for reads. */
export function bodyOf({ verb, resource, subresource, object, patch, options }: ApiCall): unknown {
  switch (verb) {
    case "create":
    case "update":
      return subresource === undefined || subresource === "status"
        ? { apiVersion: resource.apiVersion, kind: resource.kind, ...object }
        : object
    case "patch":
      return patch?.body
    case "delete":
    case "deletecollection":
      return deleteOptionsOf(options)
    default:
      return undefined
  }
}

function deleteOptionsOf({
  gracePeriodSeconds,
  propagationPolicy,
  preconditions,
  dryRun,
}: NonNullable<ApiCall["options"]> = {}): unknown {
  if (
    gracePeriodSeconds === undefined &&
    propagationPolicy === undefined &&
    preconditions === undefined &&
    dryRun !== true
  )
    return undefined
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    gracePeriodSeconds,
    propagationPolicy,
    preconditions,
    ...(dryRun === true ? { dryRun: ["All"] } : {}),
  }
}
