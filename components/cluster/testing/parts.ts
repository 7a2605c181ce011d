import { createApiServer, type ApiServer } from "../../apiserver/apiserver.ts"
import { createControllerManager } from "../../controller-manager/controller-manager.ts"
import { createScheduler, type Scheduler } from "../../scheduler/scheduler.ts"
import type { Client, Transport } from "../../../pkg/client/client.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import { createInformers, type InformersOptions } from "../../../pkg/client/informers.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Component, ComponentContext } from "../../../pkg/component/component.ts"
import type { Features } from "../../../pkg/component/features.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { signLegacyToken } from "../../../pkg/jwt/legacy-token.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { drivenTransport, type DrivenOptions } from "./time/driven-transport.ts"
import { OpenWatches } from "./end-checks.ts"
import type { ComponentName } from "./faults/faults.ts"
import type { Restartable } from "./faults/held-part.ts"
import type { ClusterOptions } from "./options.ts"
import { keepingApart, type Frozen } from "./own-objects.ts"
import type { RequestRules } from "./faults/request-rules.ts"
import { sharedCaPem, sharedSigningKey, testServingFiles } from "./serving-files.ts"

export interface PartsOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly storage: MemoryStorage
  readonly rules: RequestRules
  readonly historyMs: number
  readonly frozen: Frozen
  readonly options: Pick<ClusterOptions, "components" | "admission">
  readonly features: Features
  /** Addresses of pods. */
  readonly clusterCidr: string
  readonly signal: AbortSignal
}

/** Addresses of Services, as in `k3ts server`. */
export const SERVICE_CIDR = "10.43.0.0/16"

/** The parts of a cluster that run without nodes, each of which can be started and taken away. */
export class Parts {
  readonly apiServer: ApiServer
  readonly connectors = new NodeConnectors()
  readonly watches = new OpenWatches()
  /** What background work of the cluster's own failed with. */
  readonly failures: unknown[] = []
  readonly components: Readonly<Record<ComponentName, Restartable>>
  readonly #options: PartsOptions
  #scheduler: Scheduler | undefined

  constructor(options: PartsOptions) {
    this.#options = options
    const {
      clock,
      random,
      log,
      storage,
      rules,
      historyMs,
      features,
      options: { components = {}, admission = {} },
    } = options
    this.apiServer = createApiServer(
      { clock, random, log },
      {
        serviceCidr: SERVICE_CIDR,
        nodePorts: { first: 30_000, last: 32_767 },
        clusterDomain: "cluster.local",
        advertiseAddress: "127.0.0.1",
        nodes: this.connectors,
        storage,
        files: testServingFiles(),
        historyMs,
        disabledAdmission: new Set(admission.disabled),
        features,
        intercept: rules.around,
        withoutTimeLimits: clock instanceof VirtualClock,
      },
    )
    const { scheduler = true, controllers = true } = components
    this.components = {
      apiserver: { start: () => this.apiServer.start(options.signal), crash: () => this.apiServer.stop() },
      scheduler: scheduler
        ? this.#part("system:kube-scheduler", (context) => (this.#scheduler = createScheduler(context)))
        : NOTHING,
      "controller-manager":
        controllers === false
          ? NOTHING
          : this.#part("system:kube-controller-manager", (context) =>
              createControllerManager(context, {
                resources: () => this.apiServer.scheme.resources,
                onResources: (listener) => this.apiServer.scheme.subscribe(listener),
                resourceOf: (apiVersion, kind) => this.apiServer.scheme.of(apiVersion, kind),
                caPem: sharedCaPem,
                signToken: (request) => signLegacyToken(sharedSigningKey(), request),
                simulatedVolumes: true,
                clusterCidr: options.clusterCidr,
                features,
                clientFor: (account) =>
                  this.clientFor(`system:serviceaccount:kube-system:${account}`, [
                    "system:serviceaccounts",
                    "system:serviceaccounts:kube-system",
                  ]),
                ...(controllers === true ? {} : { disabled: new Set(controllers.disabled) }),
              }),
            ),
    }
  }

  get scheduler(): Scheduler | undefined {
    return this.#scheduler
  }

  /** For a component of the cluster's own. */
  clientFor(name: string, groups: readonly string[] = []): Client {
    return newClient(this.#transportFor(name, groups))
  }

  /** For what the test runs, such as a controller of its own. */
  givenClientFor(name: string, groups: readonly string[]): Client {
    return newClient(this.#givenTransportFor(name, groups))
  }

  /** For the test itself: time goes on while a call is awaited. */
  drivenClientFor(name: string, groups: readonly string[], driving: Omit<DrivenOptions, "user">): Client {
    return newClient(drivenTransport(this.#givenTransportFor(name, groups), { ...driving, user: name }))
  }

  #givenTransportFor(name: string, groups: readonly string[]): Transport {
    return keepingApart(this.#transportFor(name, groups), { freeze: this.#options.frozen === "given" })
  }

  #transportFor(name: string, groups: readonly string[]): Transport {
    return this.watches.counted(
      this.apiServer.transportFor({ name, groups: [...groups, "system:authenticated"] }),
      name,
    )
  }

  /** A context without informers of its own, that acts through `client`. */
  contextFor(client: Client): Omit<ComponentContext, "informers"> {
    const { clock, random, log } = this.#options
    return { client, clock, random, log, spawn: this.spawn }
  }

  informersFor(client: Client, options: Pick<InformersOptions, "fieldSelectors"> = {}): Informers {
    const { clock, random, log } = this.#options
    return createInformers({ client, clock, random, log, ...options })
  }

  spawn: ComponentContext["spawn"] = (name, run) => {
    run().catch((err: unknown) =>
      this.failures.push(new Error(`${name}: ${err instanceof Error ? err.message : String(err)}`, { cause: err })),
    )
  }

  /** A component that is made anew at each start, with informers of its own. */
  #part(user: string, create: (context: ComponentContext) => Component): Restartable {
    let stop: (() => Promise<void>) | undefined
    return {
      start: async () => {
        const context = this.contextFor(this.clientFor(user))
        const informers = this.informersFor(context.client)
        const component = create({ ...context, informers })
        const forget = this.apiServer.health.add(component.name, () => component.problem?.(), ["readyz"])
        stop = async () => {
          stop = undefined
          forget()
          await component.stop()
          informers.stop()
        }
        await component.start(this.#options.signal)
      },
      crash: async () => stop?.(),
    }
  }
}

const NOTHING: Restartable = { start: async () => {}, crash: async () => {} }
