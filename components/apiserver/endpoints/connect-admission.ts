import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Admission, AdmissionAttributes } from "../admission/admission.ts"
import type { Exchange } from "../call/exchange.ts"
import type { Query } from "../call/query.ts"
import { isTrue, type RequestInfo } from "../call/request-info.ts"
import type { UserInfo } from "../call/request.ts"
import { whenReady } from "../call/maybe-promise.ts"

/** Runs admission for a connection. Returns a promise where a webhook is called. */
export type AdmitConnection = (exchange: Exchange, info: RequestInfo, user: UserInfo) => void | Promise<void>

/**
 * Creates the admission of connections, which sees the options of the connection as an object. Source:
 * endpoints/handlers/rest.go ConnectResource.
 */
export function connectAdmission(admission: Admission, scheme: Scheme): AdmitConnection {
  return (exchange, info, user) => {
    const options = optionsOf(info)
    const resource = scheme.resource("", "v1", info.resource)
    if (options === undefined || resource === undefined) return undefined
    const attributes: AdmissionAttributes = {
      operation: "CONNECT",
      resource,
      subresource: info.subresource,
      namespace: info.namespace === "" ? undefined : info.namespace,
      name: info.name,
      user,
      options: {},
      object: options,
      old: undefined,
      warn: exchange.warn,
      annotate: exchange.annotate,
    }
    return whenReady(admission.admit(attributes), () => admission.validate(attributes))
  }
}

/** Returns the options of a connection as an object of v1; undefined where there is no admission, as for logs. */
function optionsOf({ resource, subresource, query, rest }: RequestInfo): KubeObject | undefined {
  const of = OPTIONS[`${resource}/${subresource}`]
  return of === undefined ? undefined : ({ apiVersion: "v1", ...of(query, rest) } as unknown as KubeObject)
}

const streams = (query: Query): object =>
  Object.fromEntries(
    ["stdin", "stdout", "stderr", "tty"].flatMap((name) => (isTrue(query.get(name)) ? [[name, true]] : [])),
  )
const containerIn = (query: Query): object => {
  const container = query.get("container") ?? ""
  return container === "" ? {} : { container }
}
const proxied = (kind: string) => (_query: Query, path: string) => ({ kind, ...(path === "" ? {} : { path }) })

const OPTIONS: Readonly<Record<string, (query: Query, path: string) => object>> = {
  "pods/exec": (query) => ({
    kind: "PodExecOptions",
    ...streams(query),
    ...containerIn(query),
    command: query.all("command"),
  }),
  "pods/attach": (query) => ({ kind: "PodAttachOptions", ...streams(query), ...containerIn(query) }),
  "pods/portforward": (query) => {
    const ports = query.all("ports").map(Number).filter(Number.isInteger)
    return { kind: "PodPortForwardOptions", ...(ports.length === 0 ? {} : { ports }) }
  },
  "pods/proxy": proxied("PodProxyOptions"),
  "services/proxy": proxied("ServiceProxyOptions"),
  "nodes/proxy": proxied("NodeProxyOptions"),
}
