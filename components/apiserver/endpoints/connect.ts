import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { noSuchMethod } from "../call/subresource-verbs.ts"
import type { UserInfo } from "../call/request.ts"
import type { AdmitConnection } from "./connect-admission.ts"
import { whenReady } from "../call/maybe-promise.ts"

/** Serves a subresource that is a stream. */
export type Connection = (exchange: Exchange, info: RequestInfo, user: UserInfo) => Promise<void>

/** The streaming subresources, by `<plural>/<subresource>` of the core group. */
export interface Connections {
  /** Returns the handler of a streaming request; undefined for an ordinary request. */
  find(info: RequestInfo): Connection | undefined
  /**
   * Whether the request runs a command or opens a connection although its verb is not create: browsers open WebSockets
   * by GET. It then needs the right to create as well.
   */
  needsCreate(info: RequestInfo): boolean
}

export interface ConnectionEntry {
  readonly verbs: readonly string[]
  readonly connect: Connection
  /** Whether a request runs a command or opens a connection; false unless given. */
  readonly starts?: (info: RequestInfo) => boolean
}

/** `admit` is called before each authorized connection. */
export function createConnections(
  entries: Readonly<Record<string, ConnectionEntry>>,
  admit: AdmitConnection = () => undefined,
): Connections {
  const byPath = new Map(Object.entries(entries))
  const entryOf = ({ group, version, resource, subresource }: RequestInfo): ConnectionEntry | undefined =>
    subresource === "" || group !== "" || version !== "v1" ? undefined : byPath.get(`${resource}/${subresource}`)
  return {
    find(info) {
      const entry = entryOf(info)
      if (entry === undefined) return undefined
      if (!entry.verbs.includes(info.verb)) return () => Promise.reject(noSuchMethod())
      return (exchange, _info, user) => {
        return whenReady(admit(exchange, info, user), () => entry.connect(exchange, info, user))
      }
    },
    needsCreate: (info) => info.verb !== "create" && entryOf(info)?.starts?.(info) === true,
  }
}
