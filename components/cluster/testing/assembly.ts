import type { Client, Transport } from "../../../pkg/client/client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { backgroundWork } from "../../../pkg/component/background-work.ts"
import type { Features } from "../../../pkg/component/features.ts"
import { servedOptionalKinds } from "../../../pkg/component/optional-kinds.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { outsideSpans } from "../../../pkg/tracing/clock.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import type { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { ApiServer } from "../../apiserver/apiserver.ts"
import type { Scheduler } from "../../scheduler/scheduler.ts"
import { assemble, type AssembledCluster, type ClusterConfig } from "../assemble.ts"
import type { Clients, Tools } from "../clients.ts"
import type { Component } from "../../../pkg/component/component.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { ControlPlane } from "./control-plane.ts"
import { OpenWatches } from "./end/end-checks.ts"
import type { ComponentName, Restartable } from "./faults/held-part.ts"
import type { RequestRules } from "./faults/request-rules.ts"
import { inFlightLimits } from "./in-flight.ts"
import { CLUSTER_DOMAIN, type ClusterAddresses } from "./network/network.ts"
import { eventSecondsOf, syncPeriodOf, type ClusterOptions } from "./options/options.ts"
import { keepingApart, type Frozen } from "./own-objects.ts"
import { testServingFiles } from "./serving-files.ts"
import { functionCaller } from "./extensions/webhooks.ts"
import { drivenTransport, type DrivenOptions } from "./time/driven-transport.ts"

export interface AssemblyOptions {
  readonly clock: Clock
  /** Whether the clock is virtual, or follows one that is. */
  readonly isVirtual: boolean
  /** How many nodes the cluster starts with. */
  readonly nodes: number
  readonly tracing: Tracing | undefined
  readonly random: Random
  readonly log: Logger
  readonly storage: Storage
  readonly rules: RequestRules
  readonly historyMs: number
  readonly frozen: Frozen
  readonly options: Pick<
    ClusterOptions,
    "components" | "admission" | "runtimeConfig" | "webhooks" | "extensionServers" | "network" | "csiDrivers"
  >
  readonly features: Features
  /** Addresses of pods. */
  readonly addresses: ClusterAddresses
  readonly signal: AbortSignal
  /** What the scheduler has beside or instead of its defaults. */
  readonly scheduling?: Exclude<ClusterConfig["scheduler"], boolean> | undefined
  /** The name of one of several servers; undefined for the only one. */
  readonly candidate?: string
  /** Where kubelets register, if several servers share that. */
  readonly connectors?: NodeConnectors
}

/** The cluster of a test without its nodes. Each of its components can be stopped and started. */
export class Assembly implements ControlPlane {
  readonly tools: Tools
  readonly cluster: AssembledCluster
  readonly addresses: ClusterAddresses
  readonly overNetwork = false
  readonly #watches = new OpenWatches()
  readonly failures: unknown[] = []
  readonly components: Readonly<Record<ComponentName, Restartable>>
  readonly #frozen: Frozen
  readonly #signal: AbortSignal

  constructor(options: AssemblyOptions) {
    const { clock, tracing, random, log, storage, rules, historyMs, features, addresses, signal } = options
    const { components = {}, admission = {}, webhooks = {}, extensionServers = {} } = options.options
    const autoscalerSyncMs = syncPeriodOf(options.options)
    const { scheduler = true, controllers = true } = components
    const { candidate, connectors } = options
    this.#frozen = options.frozen
    this.#signal = signal
    this.addresses = addresses
    this.tools = {
      clock: tracing === undefined ? clock : outsideSpans(clock, tracing),
      random,
      log,
      tracing,
      spawn: backgroundWork({ clock, failed: (name, err) => this.#noteFailure(name, err) }),
    }
    this.cluster = assemble(this.tools, {
      apiServer: {
        serviceCidrs: addresses.serviceCidrs,
        nodePorts: { first: 30_000, last: 32_767 },
        clusterDomain: CLUSTER_DOMAIN,
        localStorage: true,
        ingress: options.options.network === "real",
        advertiseAddress: addresses.advertiseAddress,
        storage,
        files: testServingFiles(),
        historyMs,
        eventSeconds: eventSecondsOf(options.options),
        disabledAdmission: new Set(admission.disabled),
        webhooks: functionCaller(webhooks, clock),
        extensionServers: (service) =>
          Object.hasOwn(extensionServers, service) ? extensionServers[service] : undefined,
        intercept: rules.around,
        optionalKinds: servedOptionalKinds(options.options.runtimeConfig ?? [], features),
        withoutTimeLimits: options.isVirtual,
        maxInFlight: inFlightLimits(options.nodes),
      },
      features,
      clusterCidrs: addresses.clusterCidrs,
      nodeMasks: addresses.nodeMasks,
      controllers:
        controllers === false
          ? false
          : {
              simulatedVolumes: { except: Object.keys(options.options.csiDrivers ?? {}) },
              ...(autoscalerSyncMs === undefined ? {} : { autoscalerSyncMs }),
              ...(controllers === true ? {} : { disabled: new Set(controllers.disabled) }),
            },
      scheduler: scheduler && (options.scheduling ?? true),
      metricsServer: true,
      ...(candidate === undefined ? {} : { candidate }),
      ...(connectors === undefined ? {} : { connectors }),
      around: (transport, user) => this.#watches.counted(transport, user),
    })
    const { apiServer } = this.cluster
    this.components = {
      apiserver: { start: () => apiServer.start(signal), crash: () => apiServer.stop() },
      scheduler: this.#restartable(this.cluster.scheduler),
      "controller-manager": this.#restartable(this.cluster.controllerManager),
    }
  }

  get apiServer(): ApiServer {
    return this.cluster.apiServer
  }

  get scheduler(): Scheduler | undefined {
    return this.cluster.scheduler?.component
  }

  get connectors(): NodeConnectors {
    return this.cluster.connectors
  }
  get openWatches(): readonly string[] {
    return this.#watches.left
  }

  clientsOn(): Clients {
    return this.cluster.clients
  }
  toolsOn(): Tools {
    return this.tools
  }
  clientFor(name: string, groups: readonly string[] = []): Client {
    return this.cluster.clients.clientFor({ name, groups })
  }

  givenClientFor(name: string, groups: readonly string[]): Client {
    return newClient(this.#givenTransportFor(name, groups))
  }

  drivenClientFor(name: string, groups: readonly string[], driving: Omit<DrivenOptions, "user">): Client {
    return newClient(drivenTransport(this.#givenTransportFor(name, groups), { ...driving, user: name }))
  }

  #givenTransportFor(name: string, groups: readonly string[]): Transport {
    return keepingApart(this.cluster.clients.transportFor({ name, groups }), { freeze: this.#frozen === "given" })
  }

  /** Background work that fails also fails the test, at the end of its cluster. */
  #noteFailure(name: string, err: unknown): boolean {
    this.failures.push(new Error(`${name}: ${errorMessage(err)}`, { cause: err }))
    return true
  }

  #restartable(part: Component | undefined): Restartable {
    if (part === undefined) return NOTHING
    let forget = () => {}
    return {
      start: async () => {
        forget = this.apiServer.health.add(part.name, () => part.problem?.(), ["readyz"])
        await part.start(this.#signal)
      },
      crash: async () => {
        forget()
        await part.stop()
      },
    }
  }
}

const NOTHING: Restartable = { start: async () => {}, crash: async () => {} }
