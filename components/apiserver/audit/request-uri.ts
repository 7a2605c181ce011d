import type { ApiRequest, RequestOptions } from "../call/request.ts"

/** The options of a request that client-go writes into the query. */
const IN_QUERY = [
  ...["allowWatchBookmarks", "continue", "fieldManager", "fieldSelector", "fieldValidation", "force"],
  ...["labelSelector", "limit", "pretty", "resourceVersion", "resourceVersionMatch", "sendInitialEvents"],
  "timeoutSeconds",
] as const as readonly (keyof RequestOptions)[]

/** Returns the path that a call of this process would have as a request over HTTP. */
export function requestPath({ resource, subresource, namespace, name }: ApiRequest): string {
  const { group, version, plural } = resource
  const parts = [
    group === "" ? "/api" : `/apis/${group}`,
    version,
    ...(namespace === undefined || namespace === "" ? [] : ["namespaces", namespace]),
    plural,
    ...(name === undefined || name === "" ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ]
  return parts.join("/")
}

/** Returns the target that a call of this process would have as a request over HTTP. */
export function requestUri(request: ApiRequest): string {
  const { verb, options } = request
  const query = new URLSearchParams()
  for (const name of IN_QUERY) {
    const value = options[name]
    if (value !== undefined && value !== "") query.set(name, String(value as string | number | boolean))
  }
  if (options.dryRun === true) query.set("dryRun", "All")
  if (verb === "watch") query.set("watch", "true")
  query.sort()
  return query.size === 0 ? requestPath(request) : `${requestPath(request)}?${query}`
}
