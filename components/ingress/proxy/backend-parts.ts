import type { BackendRef } from "../routing/target.ts"
import type { BackendProtocol, Connector, Endpoint } from "../messages/messages.ts"
import type { Watchdog } from "./watchdog.ts"

/** What is needed to send a request to an endpoint of a backend. */
export interface BackendParts {
  /** At least 0 and less than 1. */
  readonly chance: () => number
  /**
   * Returns the next endpoint of a backend that is not in `tried`; undefined when there is none. `client` is the
   * address of the client.
   */
  readonly pick: (to: BackendRef, tried: readonly Endpoint[], client: string) => Picked | undefined
  readonly connector: Connector
  readonly watchdog: Watchdog
}

/** The endpoint that is tried next, and how it is spoken to. */
export interface Picked {
  readonly endpoint: Endpoint
  readonly protocol: BackendProtocol
}
