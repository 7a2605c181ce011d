import { createApiServer, type ApiServer } from "../../components/apiserver/apiserver.ts"
import { createControllerManager, type ControllerManager } from "../../components/controller-manager/controller-manager.ts"
import { createScheduler, type Scheduler } from "../../components/scheduler/scheduler.ts"
import type { Client } from "../client/client.ts"
import { createInformers } from "../client/informers.ts"
import { newClient } from "../client/new-client.ts"
import type { Informers } from "../client/informer.ts"
import { seededRandom, type Random } from "../clock/random.ts"
import { VirtualClock } from "../clock/virtual.ts"
import type { ComponentContext } from "../component/component.ts"
import { NodeConnectors } from "../component/node-connector.ts"
import { silent, type Logger } from "../log/log.ts"

export interface ControlPlaneOptions {
  readonly seed?: number
  /** Time at the start, RFC 3339. */
  readonly startTime?: string
  readonly log?: Logger
  readonly scheduler?: boolean
  readonly controllers?: boolean
}

/** An API server, the controllers and the scheduler in memory, under a clock that the test moves. No sockets and no files. */
export interface ControlPlane extends AsyncDisposable {
  readonly client: Client
  readonly informers: Informers
  readonly clock: VirtualClock
  readonly random: Random
  readonly apiServer: ApiServer
  readonly scheduler: Scheduler
  readonly controllers: ControllerManager
  /** Aborts when the control plane ends. */
  readonly signal: AbortSignal
  /** The context of a further component that acts as `user`. */
  contextFor(user: string, groups?: readonly string[]): ComponentContext
}

const DEFAULT_START = "2026-01-01T00:00:00Z"

export async function startControlPlane({ seed = 1, startTime = DEFAULT_START, log = silent, scheduler: withScheduler = true, controllers: withControllers = true }: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const clock = new VirtualClock(Date.parse(startTime))
  const random = seededRandom(seed)
  const failures: unknown[] = []
  const spawn: ComponentContext["spawn"] = (_name, run) => void run().catch((err: unknown) => failures.push(err))
  const apiServer = createApiServer({ clock, random, log }, {
    serviceCidr: "10.43.0.0/16", nodePorts: { first: 30_000, last: 32_767 }, clusterDomain: "cluster.local", nodes: new NodeConnectors(), frozen: true,
  })
  const ending = new AbortController()
  const { signal } = ending
  await apiServer.start(signal)
  const stopping: (() => unknown)[] = [() => apiServer.stop()]
  const contextFor = (name: string, groups: readonly string[] = []): ComponentContext => {
    const client = newClient(apiServer.transportFor({ name, groups: [...groups, "system:authenticated"] }))
    const informers = createInformers({ client, clock, random, log })
    stopping.push(() => informers.stop())
    return { client, informers, clock, random, log, spawn }
  }
  const admin = contextFor("system:admin", ["system:masters"])
  const scheduler = createScheduler(contextFor("system:kube-scheduler"))
  const controllers = createControllerManager(contextFor("system:kube-controller-manager"), {
    resources: () => apiServer.scheme.resources, resourceOf: (apiVersion, kind) => apiServer.scheme.of(apiVersion, kind), caPem: () => "test", clusterCidr: "10.42.0.0/16",
    clientFor: (account) => newClient(apiServer.transportFor({ name: `system:serviceaccount:kube-system:${account}`, groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"] })),
  })
  if (withControllers) await controllers.start(signal)
  if (withScheduler) await scheduler.start(signal)
  return {
    client: admin.client, informers: admin.informers, clock, random, apiServer, scheduler, controllers, signal, contextFor,
    async [Symbol.asyncDispose]() {
      ending.abort()
      await scheduler.stop()
      await controllers.stop()
      for (const stop of stopping.reverse()) await stop()
      if (failures.length > 0) throw new AggregateError(failures, "Background work failed")
    },
  }
}
