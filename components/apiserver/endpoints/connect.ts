import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Exchange } from "../http/exchange.ts"
import type { RequestInfo } from "../http/request-info.ts"
import { noSuchMethod } from "../http/resource-request.ts"
import type { UserInfo } from "../request.ts"

/** Serves a subresource that is a stream and no object. */
export type Connection = (exchange: Exchange, info: RequestInfo, user: UserInfo) => Promise<void>

/** Reads live objects for connections, by the plural of a core kind. */
export type Live = (
  plural: "pods" | "services" | "nodes" | "endpoints",
  ref: { readonly namespace?: string; readonly name: string },
) => KubeObject | undefined

/** The streaming subresources, by `<plural>/<subresource>` of the core group. */
export interface Connections {
  /** The connection that a request is for; undefined when it is an ordinary request. */
  find(info: RequestInfo): Connection | undefined
}

export interface ConnectionEntry {
  readonly verbs: readonly string[]
  readonly connect: Connection
}

export function createConnections(entries: Readonly<Record<string, ConnectionEntry>>): Connections {
  const byPath = new Map(Object.entries(entries))
  return {
    find({ group, version, resource, subresource, verb }) {
      if (subresource === "" || group !== "" || version !== "v1") return undefined
      const entry = byPath.get(`${resource}/${subresource}`)
      if (entry === undefined) return undefined
      if (!entry.verbs.includes(verb)) return () => Promise.reject(noSuchMethod())
      return entry.connect
    },
  }
}
