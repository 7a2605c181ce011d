import { writeFile } from "node:fs/promises"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Timer } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { SyncRunner } from "../../pkg/component/sync-runner.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"
import { Changes } from "./changes.ts"
import { staleConnections } from "./conntrack.ts"
import { FlowCleaner } from "./flow-cleaner.ts"
import { IptablesWriter } from "./iptables/writer.ts"
import { proxyMetrics } from "./metrics.ts"
import { chooseMode, cleanUpMode } from "./mode.ts"
import { NftablesWriter } from "./nftables/writer.ts"
import { PROXY_MODES, type ProxyMode, type RuleWriter } from "./rule-writer.ts"
import type { ServicePort } from "./service-ports.ts"

export interface KubeProxyConfig {
  readonly nodeName: string
  /** Pod addresses of the whole cluster: what comes from elsewhere and enters a Service is masqueraded. */
  readonly clusterCidr: string
  /** By what rules are written; unless given nftables where the machine allows it, and iptables where not. */
  readonly mode?: ProxyMode
  /** Where nft, iptables and conntrack act; the machine itself unless given. */
  readonly host?: Host
  /** The program's metrics, for what the proxy tells of itself. */
  readonly metrics?: Registry
}

/**
 * How often to see whether somebody has flushed our rules: the kernel does not tell. Source: --iptables-sync-period.
 */
const CHECK_MS = 30_000
/** Wait before another try after a failure, e.g. while another program holds the lock. */
const RETRY_MS = 1000
/** A synchronisation that takes longer is worth a line in the log. */
const LONG_MS = 5000

/**
 * Keeps the kernel's NAT rules in step with Services and their endpoints. Source: pkg/proxy/nftables/proxier.go,
 * pkg/proxy/iptables/proxier.go. One synchronisation runs at a time; changes meanwhile are taken up by the next. Only
 * what differs is written. A synchronisation waits for nft or iptables-restore and for nothing else.
 */
export function createKubeProxy(context: ComponentContext, config: KubeProxyConfig): Component {
  const { informers, clock } = context
  const log = context.log.child({ component: "kube-proxy" })
  const host = config.host ?? hostIn()
  const registry = config.metrics ?? new Registry()
  const metrics = proxyMetrics(registry)
  const changes = new Changes({
    informers,
    nodeName: config.nodeName,
    metrics,
    startedAt: clock.now(),
    changed: () => request(),
  })
  let cleaner = new FlowCleaner({ host, clock, log, metrics })
  let writer: RuleWriter | undefined
  /** By Service, the ports that the rules in the kernel were made of, where these are others now. */
  const before = new Map<string, readonly ServicePort[]>()
  /** When the changes were triggered that no rules in the kernel follow from yet. */
  let triggers: readonly number[] = []
  let leaving: Promise<void> | undefined
  let leavingTimer: Timer | undefined
  let timer: Timer | undefined
  let unsubscribe: (() => void)[] = []
  let isStarted = false
  let stopped = false

  const runner = new SyncRunner({
    clock,
    async sync() {
      const began = clock.monotonic()
      const by = writer!
      const { mode, isFull } = by
      try {
        await sync(by)
      } finally {
        const tookMs = clock.monotonic() - began
        for (const latency of [metrics.sync, isFull ? metrics.fullSync : metrics.partialSync])
          latency.observe(tookMs / 1000)
        if (tookMs > LONG_MS) log.warn("Writing Service rules took long", { mode, ms: Math.round(tookMs), isFull })
      }
    },
    failed(err) {
      log.error("Could not write Service rules; will retry", { mode: writer?.mode, err })
      return RETRY_MS
    },
  })

  function request(): void {
    if (runner.request()) metrics.lastQueued.set(clock.now() / 1000)
  }

  async function sync(by: RuleWriter): Promise<void> {
    const taken = changes.take()
    triggers = [...triggers, ...taken.triggers]
    for (const [key, change] of taken.changes) if (!before.has(key)) before.set(key, change.before)
    const serviceCidrs = informers
      .of(ServiceCIDR)
      .list()
      .flatMap(({ spec }) => spec.cidrs ?? [])
    const isWritten = await by.write({ ports: () => changes.all(), changes: taken.changes, serviceCidrs })
    if (isWritten) for (const [key, ports] of before) cleaner.forget(staleConnections(ports, changes.of(key)))
    before.clear()
    tell()
  }

  function tell(): void {
    const now = clock.now()
    for (const time of triggers) metrics.programming.observe(Math.max(0, now - time) / 1000)
    triggers = []
    metrics.lastSync.set(now / 1000)
    const lacking = changes.all().filter(({ cluster, local }) => cluster.length > 0 && local.length === 0)
    metrics.noLocalEndpoints.internal.set(lacking.filter(({ internalLocal }) => internalLocal).length)
    metrics.noLocalEndpoints.external.set(lacking.filter(({ externalLocal }) => externalLocal).length)
  }

  function makeWriter(mode: ProxyMode): RuleWriter {
    const { clusterCidr } = config
    return mode === "iptables"
      ? new IptablesWriter({ clusterCidr, host, metrics: registry })
      : new NftablesWriter({ clusterCidr, host, clock, log, metrics: registry })
  }

  /** Rules that an earlier start wrote in another mode go once ours are there, so that Services are always served. */
  async function leaveOtherModes(mode: ProxyMode): Promise<void> {
    for (const other of PROXY_MODES)
      if (other !== mode)
        await cleanUpMode(other, host).catch((err: unknown) => {
          log.warn("Cannot remove the rules of another mode; will retry", { mode: other, err })
          if (!stopped) leavingTimer = clock.setTimeout(() => void (leaving = leaveOtherModes(mode)), RETRY_MS)
        })
  }

  function watchForFlushes(of: RuleWriter): void {
    timer = clock.setTimeout(() => {
      const looked = of.intact().catch((err: unknown) => {
        log.warn("Cannot see whether the Service rules are there; will look again", { mode: of.mode, err })
        return true
      })
      void looked.then((fine) => {
        if (stopped) return
        if (!fine && !runner.isRunning) {
          log.warn("The Service rules were removed by somebody; writing them again", { mode: of.mode })
          of.forget()
          request()
        }
        watchForFlushes(of)
      })
    }, CHECK_MS)
  }

  return {
    name: "kube-proxy",
    problem: () => runner.problem ?? (isStarted ? undefined : "not started"),
    async start(signal) {
      await Promise.all([
        informers.of(Service).whenSynced(),
        informers.of(EndpointSlice).whenSynced(),
        informers.of(ServiceCIDR).whenSynced(),
        informers.of(Node).whenSynced(),
      ])
      writer = makeWriter(await chooseMode(config.mode, host, log))
      signal.throwIfAborted()
      stopped = false
      cleaner = new FlowCleaner({ host, clock, log, metrics })
      // Lets node ports answer on loopback; KUBE-FIREWALL keeps others out. Not writable in some containers, where it
      // is then left alone.
      if (config.host === undefined)
        await writeFile("/proc/sys/net/ipv4/conf/all/route_localnet", "1").catch(() => undefined)
      unsubscribe = [
        changes.follow(),
        informers.of(ServiceCIDR).on({ added: request, updated: request, deleted: request }),
      ]
      request()
      await runner.start()
      if (runner.problem !== undefined) throw new Error(`Cannot write Service rules: ${runner.problem}`)
      isStarted = true
      leaving = leaveOtherModes(writer.mode)
      watchForFlushes(writer)
    },
    /** Rules stay, so that traffic goes on while k3ts restarts. */
    async stop() {
      stopped = true
      timer?.cancel()
      leavingTimer?.cancel()
      for (const off of unsubscribe) off()
      unsubscribe = []
      await Promise.all([runner.stop(), leaving, cleaner.stop()])
    },
  }
}
