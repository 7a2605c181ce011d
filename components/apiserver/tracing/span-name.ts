/** What the name of a request's span tells. */
export interface NamedRequest {
  readonly group: string
  readonly version: string
  /** The plural name. */
  readonly resource: string
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/**
 * Returns the name of a request's span: the method and the path, with `{:namespace}` and `{:name}` for what clients
 * name, so that there are only so many. Source: apiserver pkg/endpoints/filters/traces.go getSpanNameFromRequestInfo.
 */
export function spanName(method: string, request: NamedRequest): string {
  const { group, version, resource, subresource = "", namespace = "", name = "" } = request
  return [
    `${method} ${group === "" ? "/api" : `/apis/${group}`}`,
    version,
    ...(namespace === "" ? [] : ["namespaces", "{:namespace}"]),
    resource,
    ...(name === "" ? [] : ["{:name}"]),
    ...(subresource === "" ? [] : [subresource]),
  ].join("/")
}
