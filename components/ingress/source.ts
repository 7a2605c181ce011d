import type { Certificates } from "./certificates.ts"
import type { PortFault } from "./port-holders.ts"
import type { Site } from "./routing/site.ts"

/** The ports and routes that a source asks to be served. */
export interface Wanted {
  readonly sites: readonly Site[]
  /** Owners of the routes, as `ownerKey` writes them. */
  readonly owners: readonly string[]
}

/** The state of the ports of all sites. */
export interface PortsState {
  /** Why a port could not be opened, by the port number that the site asks for. */
  readonly errors: ReadonlyMap<number, string>
  /** Services that take the requests to an open port. */
  readonly faults: readonly PortFault[]
  readonly portOf: (protocol: Site["protocol"], port: number) => number | undefined
}

/** Watches the objects of which routes are made: Ingresses, or Gateways with their routes. */
export interface Source {
  /** Starts to watch the objects; `changed` is called after each change that may matter. */
  start(changed: () => void): Promise<void>
  stop(): Promise<void>
  /** Starts and stops further watches as they are needed. Called first after every change. */
  prepare(): Promise<void>
  /** Whether no port has to be served. */
  isEmpty(): boolean
  /** Returns what is to be served now. Called only while there is something to serve. */
  wanted(certificates: Certificates): Promise<Wanted>
  /** Writes statuses and Events of the objects; `ports` is undefined while nothing is served. */
  tell(ports: PortsState | undefined): Promise<void>
}
