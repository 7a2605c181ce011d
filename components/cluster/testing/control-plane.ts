import type { Client } from "../../../pkg/client/client.ts"
import type { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import type { ApiServer } from "../../apiserver/apiserver.ts"
import type { Scheduler } from "../../scheduler/scheduler.ts"
import type { Clients, Tools } from "../clients.ts"
import type { ComponentName, Restartable } from "./faults/held-part.ts"
import type { ClusterAddresses } from "./network/network.ts"
import type { DrivenOptions } from "./time/driven-transport.ts"

/** What the rest of a test cluster sees of its servers: one (assembly.ts) or several (servers/servers.ts). */
export interface ControlPlane {
  readonly addresses: ClusterAddresses
  /** An API server that runs, if one does. */
  readonly apiServer: ApiServer
  /** The scheduler while it runs; undefined otherwise. */
  readonly scheduler: Scheduler | undefined
  /** Where kubelets register how their pods can be reached. */
  readonly connectors: NodeConnectors
  readonly components: Readonly<Record<ComponentName, Restartable>>
  /** A line for each watch that is open. */
  readonly openWatches: readonly string[]
  /** Errors of background work. */
  readonly failures: readonly unknown[]
  /** Whether each machine reaches the API through a network of its own, and so needs informers of its own. */
  readonly overNetwork: boolean
  /** Returns the clients of the components on a machine. */
  clientsOn(machine: string): Clients
  /** Returns time, randomness and the like on a machine. */
  toolsOn(machine: string): Tools
  /** Returns a client for a component of the cluster. */
  clientFor(name: string, groups?: readonly string[]): Client
  /**
   * Returns a client for code that the test runs in the background, such as its own controller, on a machine: on that
   * of the test unless given.
   */
  givenClientFor(name: string, groups: readonly string[], machine?: string): Client
  /**
   * Returns a client for the test itself: virtual time advances while a call is awaited. With `server` it knows that
   * server only.
   */
  drivenClientFor(
    name: string,
    groups: readonly string[],
    driving: Omit<DrivenOptions, "user">,
    server?: string,
  ): Client
}
