import { writeFile } from "node:fs/promises"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Timer } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"
import { Changes } from "./changes.ts"
import { staleConnections } from "./conntrack.ts"
import { FlowCleaner } from "./flow-cleaner.ts"
import { ensureJumps, intact, restore } from "./iptables.ts"
import { proxyMetrics } from "./metrics.ts"
import { transition, writtenRules } from "./restore.ts"
import { rulesFor, type RulesConfig, type Ruleset } from "./rules.ts"
import type { ServicePort } from "./service-ports.ts"

export interface KubeProxyConfig extends Pick<RulesConfig, "clusterCidr"> {
  readonly nodeName: string
  /** Where iptables acts; the machine itself unless given. */
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
 * Keeps the kernel's NAT rules in step with Services and their endpoints. Source: pkg/proxy/iptables/proxier.go.
 * One synchronisation runs at a time; changes meanwhile are taken up by the next. Only chains that differ are written.
 * A synchronisation waits for iptables-restore and for nothing else.
 */
export function createKubeProxy(context: ComponentContext, config: KubeProxyConfig): Component {
  const { informers, clock } = context
  const log = context.log.child({ component: "kube-proxy" })
  const host = config.host ?? hostIn()
  const metrics = proxyMetrics(config.metrics ?? new Registry())
  const changes = new Changes({
    informers,
    nodeName: config.nodeName,
    metrics,
    startedAt: clock.now(),
    changed: () => request(),
  })
  let cleaner = new FlowCleaner({ host, clock, log, metrics })
  let applied: Ruleset | undefined
  let known: readonly ServicePort[] = []
  /** When the changes were triggered that no rules in the kernel follow from yet. */
  let triggers: readonly number[] = []
  let syncing: Promise<void> | undefined
  let wanted = false
  let timer: Timer | undefined
  let unsubscribe: (() => void)[] = []
  let problem: string | undefined = "not started"
  let stopped = false

  function request(): void {
    if (wanted || stopped) return
    wanted = true
    metrics.lastQueued.set(clock.now() / 1000)
    clock.afterTurn(run)
  }

  /** Starts working unless that is under way, in which case what is wanted is seen to before it ends. */
  function run(): void {
    if (!wanted || syncing !== undefined) return
    syncing = work().finally(() => {
      syncing = undefined
      run()
    })
  }

  async function work(): Promise<void> {
    while (wanted && !stopped) {
      wanted = false
      const began = clock.monotonic()
      const isFull = applied === undefined
      try {
        await sync()
        problem = undefined
      } catch (err) {
        problem = err instanceof Error ? err.message : String(err)
        log.error("Could not write iptables rules; will retry", { err })
        metrics.restoreFailures.inc()
        if (!isFull) metrics.partialRestoreFailures.inc()
        applied = undefined // unknown what was written: write all
        clock.setTimeout(request, RETRY_MS)
      }
      const tookMs = clock.monotonic() - began
      for (const latency of [metrics.sync, isFull ? metrics.fullSync : metrics.partialSync])
        latency.observe(tookMs / 1000)
      if (tookMs > LONG_MS)
        log.warn("Writing iptables rules took long", { ms: Math.round(tookMs), servicePorts: known.length, isFull })
    }
  }

  async function sync(): Promise<void> {
    const taken = changes.take()
    triggers = [...triggers, ...taken.triggers]
    const serviceCidrs = informers
      .of(ServiceCIDR)
      .list()
      .flatMap(({ spec }) => spec.cidrs ?? [])
    const rules = rulesFor(taken.ports, { clusterCidr: config.clusterCidr, serviceCidrs })
    const text = transition(applied, rules)
    if (text !== undefined) {
      const first = applied === undefined
      await restore(host, text)
      if (first) await ensureJumps(host)
      applied = rules
      cleaner.forget(staleConnections(known, taken.ports))
      known = taken.ports
    }
    tell(rules, text ?? "")
  }

  function tell(rules: Ruleset, written: string): void {
    const now = clock.now()
    for (const time of triggers) metrics.programming.observe(Math.max(0, now - time) / 1000)
    triggers = []
    metrics.lastSync.set(now / 1000)
    const last = writtenRules(written)
    for (const table of ["nat", "filter"] as const) {
      metrics.rules[table].set([...rules[table].values()].reduce((sum, { length }) => sum + length, 0))
      metrics.rulesWritten[table].set(last[table])
    }
    const lacking = known.filter(({ cluster, local }) => cluster.length > 0 && local.length === 0)
    metrics.noLocalEndpoints.internal.set(lacking.filter(({ internalLocal }) => internalLocal).length)
    metrics.noLocalEndpoints.external.set(lacking.filter(({ externalLocal }) => externalLocal).length)
  }

  function watchForFlushes(): void {
    timer = clock.setTimeout(() => {
      void intact(host).then((fine) => {
        if (stopped) return
        if (!fine && syncing === undefined) {
          log.warn("The iptables rules were removed by somebody; writing them again")
          applied = undefined
          request()
        }
        watchForFlushes()
      })
    }, CHECK_MS)
  }

  return {
    name: "kube-proxy",
    problem: () => problem,
    async start(signal) {
      await Promise.all([
        informers.of(Service).whenSynced(),
        informers.of(EndpointSlice).whenSynced(),
        informers.of(ServiceCIDR).whenSynced(),
      ])
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
      wanted = true
      run()
      await syncing
      if (problem !== undefined) throw new Error(`Cannot program iptables: ${problem}`)
      watchForFlushes()
    },
    /** Rules stay, so that traffic goes on while k3ts restarts. */
    async stop() {
      stopped = true
      timer?.cancel()
      for (const off of unsubscribe) off()
      unsubscribe = []
      await Promise.all([syncing, cleaner.stop()])
    },
  }
}
