import {
  APIService,
  availability,
  localCondition,
  type APIServiceCondition,
} from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { EndpointSlice, serviceKeyOf } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { setCondition } from "../../../pkg/apimachinery/conditions.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { timestamp, type Clock } from "../../../pkg/clock/clock.ts"
import { WorkQueue } from "../../../pkg/controller/workqueue.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Storage, StorageEvent } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import { storagePrefix } from "../cacher/view.ts"
import { isRemote, type ApiServices, type RemoteService } from "./api-services.ts"
import type { Ask } from "./ask.ts"
import { objectsFinding, PASSED, serverFinding, type Finding } from "./availability-check.ts"
import type { ExtensionConnections } from "./connections.ts"
import type { RemoteDiscovery } from "./discovery.ts"
import { functionBehind, type FindExtensionServer } from "./extension-server.ts"
import type { AggregatorMetrics } from "./metrics.ts"

/**
 * How many servers are checked concurrently, and after how long an available one is checked again. Source:
 * kube-aggregator.
 */
const WORKERS = 5
const LOOK_AGAIN_MS = 30_000
/** The delay after the first failed check, in milliseconds; it doubles up to LONGEST_WAIT_MS. */
const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 30_000

export interface AvailabilityOptions {
  readonly storage: Storage
  readonly objects: Objects
  readonly services: ApiServices
  readonly connections: ExtensionConnections
  readonly functions: FindExtensionServer
  readonly ask: Ask
  readonly discovery: RemoteDiscovery
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: AggregatorMetrics
  readonly tellsAvailability: () => boolean
}

export interface KeptAvailability {
  /** Checks all APIServices. */
  lookAgain(): void
  stop(): void
}

/**
 * Keeps the condition Available of each APIService. A change of its Service or EndpointSlices is checked at once. Each
 * server is also checked every 30 seconds, since a network path can break without any event. While no APIService has an
 * extension server there is no timer. Of several servers each checks for itself, whose requests it passes on, and one
 * writes the condition: servers with different findings would else overwrite each other. Source: kube-aggregator
 * pkg/controllers/status/{local,remote}. Differs from upstream, where every server writes.
 */
export function keepAvailability(options: AvailabilityOptions): KeptAvailability {
  const { storage, services, connections, discovery, client, clock, log, metrics } = options
  const failures = new Map<string, number>()
  /**
   * The spec that was checked last and the condition that was written, so that this controller's own writes cause no
   * new checks. `condition` is undefined where another server writes.
   */
  const seen = new Map<string, { readonly spec: object; readonly condition: APIServiceCondition | undefined }>()
  let running = 0
  let stopped = false
  const queue = new WorkQueue(clock, pump)

  function pump(): void {
    while (!stopped && running < WORKERS) {
      const name = queue.take()
      if (name === undefined) return
      running++
      void look(name).finally(() => {
        running--
        queue.done(name)
        pump()
      })
    }
  }

  /** Checks one APIService; never rejects. */
  async function look(name: string): Promise<void> {
    try {
      const service = services.get(name)
      if (service === undefined || !isRemote(service)) {
        connections.forget(name)
        discovery.forget(name)
        failures.delete(name)
        seen.delete(name)
        if (service === undefined) metrics.forget(name)
        else await tell(service, localCondition(timestamp(clock)))
        return
      }
      const finding = await findingOf(service)
      if (stopped) return
      if (finding.status === "True") {
        failures.delete(name)
        // A function of this process cannot become unavailable by itself.
        if (!services.isOwn(service)) queue.addAfter(name, LOOK_AGAIN_MS, "upkeep")
      } else if (finding.reason === "FailedDiscoveryCheck") lookSoon(name)
      await tell(service, { type: "Available", lastTransitionTime: timestamp(clock), ...finding })
    } catch (err) {
      if (stopped) return
      if (!isNotFound(err) && !isConflict(err))
        log.warn("Failed to check the availability of an APIService; will retry", { service: name, err })
      lookSoon(name)
    }
  }

  /** Schedules a check of a server that did not respond; changes of objects cause checks by their events. */
  function lookSoon(name: string): void {
    const before = failures.get(name) ?? 0
    failures.set(name, before + 1)
    const wait = Math.min(FIRST_WAIT_MS * 2 ** before, LONGEST_WAIT_MS)
    queue.addAfter(name, wait, wait === LONGEST_WAIT_MS ? "upkeep" : "work")
  }

  async function findingOf(service: RemoteService): Promise<Finding> {
    const isFunction = functionBehind(service, options.functions) !== undefined
    const finding = isFunction ? undefined : objectsFinding(service, options.objects)
    const answer = finding ?? (await serverFinding(service, options))
    if ("status" in answer) {
      discovery.failed(service)
      return answer
    }
    // Discovery is refreshed before the condition becomes True, so that a client that waits for the condition finds the
    // kinds.
    await discovery.refresh(service, answer)
    return PASSED
  }

  async function tell(service: APIService, condition: APIServiceCondition): Promise<void> {
    const { name = "" } = service.metadata
    const before = availability(service.status)
    const isAvailable = condition.status === "True"
    metrics.available(name, isAvailable)
    const lastTransitionTime =
      before?.status === condition.status ? before.lastTransitionTime : condition.lastTransitionTime
    const next = { ...condition, lastTransitionTime }
    const tells = options.tellsAvailability() && !services.isOwn(service)
    seen.set(name, { spec: service.spec, condition: tells ? next : undefined })
    if (!tells) return
    if (before !== undefined && deepEqual(before, next)) return
    const conditions = setCondition(service.status.conditions, next)
    await client.updateStatus(APIService, { ...service, status: { conditions } })
    if (before?.status === "True" && !isAvailable) metrics.lost(name, condition.reason ?? "UnknownReason")
  }

  /** Enqueues the APIServices that a change of a Service or EndpointSlice affects. */
  function concerned(events: readonly StorageEvent[]): void {
    if (services.remotes.size === 0) return
    const places = new Set<string>()
    for (const { key, stored } of events) {
      const { namespace = "", name = "" } = stored.object.metadata
      if (key.startsWith(SERVICES)) places.add(`${namespace}/${name}`)
      else places.add(serviceKeyOf(stored.object))
    }
    for (const { metadata, spec } of services.remotes.values())
      if (places.has(`${spec.service.namespace}/${spec.service.name}`)) queue.add(metadata.name ?? "")
  }

  function take(name: string): void {
    const service = services.get(name)
    if (service !== undefined && !isRemote(service) && availability(service.status)?.reason === "Local")
      metrics.available(name, true)
    else if (!isSeen(name, service)) queue.add(name)
  }

  function isSeen(name: string, service: APIService | undefined): boolean {
    const known = seen.get(name)
    return (
      service !== undefined &&
      known !== undefined &&
      deepEqual(known.spec, service.spec) &&
      (known.condition === undefined || deepEqual(known.condition, availability(service.status)))
    )
  }

  const offServices = services.subscribe((names) => names.forEach(take))
  const unsubscribe = storage.subscribe(concerned, [SERVICES, SLICES])
  const takeAll = () => {
    for (const { metadata } of services.all) take(metadata.name ?? "")
  }
  takeAll()
  return {
    lookAgain() {
      seen.clear()
      takeAll()
    },
    stop() {
      stopped = true
      offServices()
      unsubscribe()
      queue.stop()
    },
  }
}

const SERVICES = storagePrefix(Service, undefined)
const SLICES = storagePrefix(EndpointSlice, undefined)
