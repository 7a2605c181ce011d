import type { Certificates } from "./certificates.ts"
import type { PortFault } from "./port-holders.ts"
import type { Site } from "./routing/site.ts"

/** What a source wants to be served. */
export interface Wanted {
  readonly sites: readonly Site[]
  /** Owners of the routes, as `ownerKey` writes them. */
  readonly owners: readonly string[]
}

/** How the ports of all sites are. */
export interface PortsState {
  /** Why a port could not be opened, by the number of the site. */
  readonly errors: ReadonlyMap<number, string>
  /** Services that take the requests to an open port. */
  readonly faults: readonly PortFault[]
  readonly portOf: (protocol: Site["protocol"], port: number) => number | undefined
}

/** Kinds of objects that say what is served: Ingresses, or Gateways with their routes. */
export interface Source {
  /** Follows the objects; `changed` is called after each change of what is wanted. */
  start(changed: () => void): Promise<void>
  stop(): Promise<void>
  /** Follows what matters now. Called before the rest, whenever something has changed. */
  prepare(): Promise<void>
  /** Whether there is nothing to serve. */
  isEmpty(): boolean
  /** What is to be served now. Called while there is something to serve. */
  wanted(certificates: Certificates): Promise<Wanted>
  /** Tells the owners what has become of their objects; `ports` is undefined while nothing is served. */
  tell(ports: PortsState | undefined): Promise<void>
}
