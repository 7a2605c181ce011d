import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { serviceCidrsOf } from "../../pkg/component/outside-addresses.ts"
import type { OwnPort } from "../../pkg/component/own-ports.ts"
import { inSteps } from "../../pkg/clock/in-steps.ts"
import { SyncRunner } from "../../pkg/component/sync-runner.ts"
import type { SeriesRecorder } from "../../pkg/controller/event-series.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"
import { contain } from "../../pkg/failure/contain.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { findRefused } from "../../pkg/netfilter/find-refused.ts"
import { FlushWatch } from "../../pkg/netfilter/flush-watch.ts"
import { Seam } from "../../pkg/quarantine/seam.ts"
import { PendingCauses } from "../../pkg/tracing/pending-causes.ts"
import { endingWith, type Attributes } from "../../pkg/tracing/tracing.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { Changes } from "./changes.ts"
import { staleConnections } from "./conntrack.ts"
import { FlowCleaner } from "./flow-cleaner.ts"
import { HealthCheckPorts } from "./health/health-check-ports.ts"
import type { ProxyHealth } from "./health/proxy-health.ts"
import { IptablesWriter } from "./iptables/writer.ts"
import { proxyMetrics, type ProxyMetrics } from "./metrics.ts"
import { NftablesWriter } from "./nftables/writer.ts"
import type { ProxyMode, RuleInput, RuleWriter, ServiceChange } from "./rule-writer.ts"
import { endpointsOf, MOST_ENTRIES, type ServicePort } from "./service-ports.ts"
import { tracedHost } from "./traced-host.ts"

export interface FamilyProxierOptions {
  readonly family: Family
  readonly mode: ProxyMode
  readonly nodeName: string
  /** The range of the cluster's pod addresses in this family. */
  readonly clusterCidr: string
  /** The ranges of this node's addresses in the family at which node ports are served; none for all addresses. */
  readonly nodePortCidrs: readonly string[]
  /** Addresses of Services at which this machine itself answers, in the family. */
  readonly ownAddresses: readonly string[]
  readonly ownPorts: readonly OwnPort[]
  readonly host: Host
  readonly metrics: Registry
  readonly events: Pick<SeriesRecorder, "event">
  /** Is told when rules are wanted and when they are in the kernel. */
  readonly health: Pick<ProxyHealth, "queued" | "updated">
}

/** The delay before another attempt after a failure, for example while another program holds the lock. */
const RETRY_MS = 1000
/** A change of the endpoints of a Service that the kernel has refused has it tried again after this time. */
const TRY_AGAIN_MS = 60_000
/** The key of all causes, since one synchronization is for all changes. */
const ALL = ""
/** A synchronization that takes longer is logged. */
const LONG_MS = 5000

/** A Service in the state whose rules the kernel has refused. */
interface Refusal {
  /** Changes with an edit of the Service. */
  readonly edition: string | undefined
  readonly at: number
}

/**
 * Keeps the rules of one address family up to date with Services and their endpoints. Only differences are written. A
 * synchronization waits only for nft or iptables-restore, and address families do not wait for each other.
 */
export class FamilyProxier {
  readonly #context: ComponentContext
  readonly #options: FamilyProxierOptions
  readonly #metrics: ProxyMetrics
  readonly #changes: Changes
  readonly #seam: Seam
  readonly #cleaner: FlowCleaner
  readonly #healthChecks: HealthCheckPorts
  readonly #writer: RuleWriter
  readonly #runner: SyncRunner
  readonly #flushes: FlushWatch
  /** What the next synchronization is for, where traces are wanted. */
  readonly #causes: PendingCauses | undefined
  /** By Service, the ports of the kernel's rules where these differ from the current ones. */
  readonly #before = new Map<string, readonly ServicePort[]>()
  /** The Services whose rules the kernel has refused, by key. */
  readonly #refused = new Map<string, Refusal>()
  /** The times of changes that are not in the kernel's rules yet. */
  #triggers: readonly number[] = []
  #unsubscribe: readonly (() => void)[] = []
  #stopped = false

  constructor(context: ComponentContext, options: FamilyProxierOptions) {
    const { informers, clock, log, tracing } = context
    const { family, nodeName, nodePortCidrs, host } = options
    this.#context = context
    this.#options = options
    this.#causes = tracing === undefined ? undefined : new PendingCauses(tracing)
    this.#metrics = proxyMetrics(options.metrics, family)
    this.#seam = new Seam({
      place: "Service rules",
      part: "kube-proxy",
      quarantine: context.quarantine,
      clock,
      log,
      again: (key) => {
        this.#refused.delete(key)
        this.#changes.again(key)
      },
      leftOut: (key, reason, why) => this.#warn(informers.of(Service).get(key), reason, why),
    })
    this.#changes = new Changes({
      seam: this.#seam,
      trying: (ports) => this.#writer.trying(ports),
      isRefused: (key, edition) => this.#isRefused(key, edition),
      informers,
      nodeName,
      family,
      metrics: this.#metrics,
      startedAt: clock.now(),
      limited: (service, leftOut) => {
        const why = `The last ${leftOut} ports are not served: those before have ${MOST_ENTRIES} pairs of address and endpoint`
        const { name, namespace } = service.metadata
        log.warn("Serving a part of a Service", { family, namespace, name, leftOut })
        this.#warn(service, "TooManyEndpoints", why)
      },
      changed: (object) => {
        this.#causes?.add(ALL, object)
        this.#request()
      },
    })
    this.#healthChecks = new HealthCheckPorts({
      family,
      nodeName,
      nodePortCidrs,
      clock,
      informers,
      events: options.events,
      isHealthy: () => this.problem === undefined,
    })
    this.#cleaner = new FlowCleaner({ host, clock, log, metrics: this.#metrics })
    const writing = tracing === undefined ? options : { ...options, host: tracedHost(host, tracing) }
    this.#writer =
      options.mode === "iptables" ? new IptablesWriter(writing) : new NftablesWriter({ ...writing, clock, log })
    this.#runner = new SyncRunner({
      clock,
      sync: () => this.#inSpan(),
      failed: (err) => {
        log.error("Failed to write Service rules; will retry", { family, mode: options.mode, err })
        return RETRY_MS
      },
    })
    const fields = { family, mode: options.mode }
    this.#flushes = new FlushWatch({
      clock,
      isIntact: () => this.#writer.intact(),
      flushed: () => {
        if (this.#runner.isRunning) return
        log.warn("Another program removed the Service rules; writing them again", fields)
        this.#writer.forget()
        this.#request()
      },
      failed: (err) => log.warn("Failed to check the Service rules; will retry", { ...fields, err }),
    })
  }

  get problem(): string | undefined {
    return this.#runner.problem
  }

  /**
   * Resolves when the kernel has the rules. Must be called after the informers have synced. @throws Error when they
   * cannot be written
   */
  async start(): Promise<void> {
    const request = () => this.#request()
    this.#unsubscribe = [
      this.#changes.follow(),
      this.#context.informers.of(ServiceCIDR).on({ added: request, updated: request, deleted: request }),
    ]
    request()
    await this.#runner.start()
    if (this.problem !== undefined)
      throw new Error(`Cannot write Service rules for ${this.#options.family}: ${this.problem}`)
    if (!this.#stopped) this.#flushes.start()
  }

  /** Stops the updates. The rules stay in the kernel. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#flushes.stop()
    for (const off of this.#unsubscribe) off()
    this.#unsubscribe = []
    this.#healthChecks.stop()
    this.#seam.stop()
    await Promise.all([this.#runner.stop(), this.#cleaner.stop()])
  }

  #request(): void {
    this.#options.health.queued(this.#options.family)
    if (this.#runner.request()) this.#metrics.lastQueued.set(this.#context.clock.now() / 1000)
  }

  /** Synchronizes as part of the trace of what changed. */
  #inSpan(): Promise<void> {
    const { tracing } = this.#context
    if (tracing === undefined) return this.#measured()
    const { family } = this.#options
    const span = tracing.root("syncProxyRules", {
      kind: "consumer",
      causes: this.#causes!.take(ALL),
      attributes: { family, mode: this.#writer.mode },
    })
    return endingWith(tracing, span, () => this.#measured())
  }

  async #measured(): Promise<void> {
    const { clock, log } = this.#context
    const began = clock.monotonic()
    const { mode, isFull } = this.#writer
    // The run before may have ended after the request for this one, and has cleared it.
    this.#options.health.queued(this.#options.family)
    try {
      await this.#sync()
    } finally {
      const tookMs = clock.monotonic() - began
      for (const latency of [this.#metrics.sync, isFull ? this.#metrics.fullSync : this.#metrics.partialSync])
        latency.observe(tookMs / 1000)
      if (tookMs > LONG_MS) log.warn("Writing Service rules took a long time", { mode, ms: Math.round(tookMs), isFull })
    }
  }

  async #sync(): Promise<void> {
    const changes = this.#changes
    const taken = await inSteps(changes.taking(), this.#context.clock)
    this.#triggers = [...this.#triggers, ...taken.triggers]
    const span = this.#context.tracing?.active()
    // Counted only for spans that are sent, since it takes a look at all Services.
    if (span?.isSampled === true)
      span.set({ isFull: this.#writer.isFull, changedServices: taken.changes.size, ...sizesOf(changes.all()) })
    for (const [key, change] of taken.changes) if (!this.#before.has(key)) this.#before.set(key, change.before)
    // Updated before the rules are written, so that a failed write loses no update: until a write succeeds, load
    // balancers get 503.
    for (const key of taken.changes.keys()) this.#alone(key, () => this.#healthChecks.update(key, changes.of(key)))
    const { isFull } = this.#writer
    const isWritten = await this.#write(taken.changes).catch(async (err: unknown) => {
      // After other failures everything is written again first.
      const refused = isFull ? await this.#leaveOut(err) : undefined
      if (refused === undefined || refused.size === 0) throw err
      return this.#write(refused)
    })
    if (isWritten)
      for (const [key, ports] of this.#before)
        this.#alone(key, () => this.#cleaner.forget(staleConnections(ports, changes.of(key))))
    this.#before.clear()
    this.#options.health.updated(this.#options.family)
    this.#tell()
  }

  #write(changes: RuleInput["changes"]): Promise<boolean> {
    return this.#writer.write({ ports: () => this.#changes.all(), changes, serviceCidrs: this.#serviceCidrs })
  }

  get #serviceCidrs(): readonly string[] {
    return serviceCidrsOf(this.#context.informers, this.#options.family)
  }

  /**
   * Leaves out the Services because of which the kernel refuses the rules of all, until they are edited. Returns these
   * changes, none where the kernel refuses something else.
   */
  async #leaveOut(err: unknown): Promise<ReadonlyMap<string, ServiceChange>> {
    const { informers, clock, log } = this.#context
    const services = new Map(this.#changes.services)
    const cidrs = this.#serviceCidrs
    const found = await findRefused([...services.keys()], this.#before, (keys) =>
      this.#writer.accepts(new Map([...services].filter(([key]) => keys.has(key))), cidrs),
    )
    const changes = new Map<string, ServiceChange>()
    for (const key of found) {
      const { change, edition } = this.#changes.leaveOut(key)
      changes.set(key, change)
      this.#refused.set(key, { edition, at: clock.monotonic() })
      contain("Service rules", err, log, { key })
      const service = informers.of(Service).get(key)
      const why = `The kernel of this node refuses the rules, so the Service is not served here until it is changed: ${errorMessage(err).split("\n")[0]!}`
      this.#warn(service, "ServiceRefused", why)
      this.#alone(key, () => this.#healthChecks.update(key, []))
    }
    return changes
  }

  /** Records why a Service, if there is still one, is not served as it should be. */
  #warn(service: Service | undefined, reason: string, note: string): void {
    if (service !== undefined) this.#options.events.event(service, "Warning", reason, { action: "Sync", note })
  }

  /** Whether a Service was refused lately and is the same. Its endpoints may have changed, so it is tried now and then. */
  #isRefused(key: string, edition: () => string | undefined): boolean {
    const refused = this.#refused.get(key)
    if (refused === undefined) return false
    const isSame = refused.edition === edition() && this.#context.clock.monotonic() - refused.at < TRY_AGAIN_MS
    if (!isSame) this.#refused.delete(key)
    return isSame
  }

  /** Does something for one Service. Its failure does not keep the rules of the others from the kernel. */
  #alone(key: string, work: () => void): void {
    try {
      work()
    } catch (err) {
      contain("Service rules", err, this.#context.log, { key })
    }
  }

  #tell(): void {
    const now = this.#context.clock.now()
    const { programming, lastSync, noLocalEndpoints } = this.#metrics
    for (const time of this.#triggers) programming.observe(Math.max(0, now - time) / 1000)
    this.#triggers = []
    lastSync.set(now / 1000)
    const lacking = this.#changes.all().filter(({ cluster, local }) => cluster.length > 0 && local.length === 0)
    noLocalEndpoints.internal.set(lacking.filter(({ internalLocal }) => internalLocal).length)
    noLocalEndpoints.external.set(lacking.filter(({ externalLocal }) => externalLocal).length)
  }
}

const sizesOf = (ports: readonly ServicePort[]): Attributes => ({
  servicePorts: ports.length,
  endpoints: ports.reduce((sum, port) => sum + endpointsOf(port).length, 0),
})
