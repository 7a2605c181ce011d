import { writeFile } from "node:fs/promises"
import { Service } from "../../pkg/api/core/v1/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Index } from "../../pkg/client/informer.ts"
import type { Timer } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { forget, staleConnections } from "./conntrack.ts"
import { ensureJumps, hostIn, intact, restore, type Host } from "./iptables.ts"
import { transition } from "./restore.ts"
import { rulesFor, type RulesConfig, type Ruleset } from "./rules.ts"
import { concerns, serviceKeyOf, servicePorts, type ServicePort } from "./service-ports.ts"

export interface KubeProxyConfig extends RulesConfig {
  readonly nodeName: string
  /** Where iptables acts; the machine itself unless given. */
  readonly host?: Host
}

/** How often to see whether somebody has flushed our rules: the kernel does not tell. Source: --iptables-sync-period. */
const CHECK_MS = 30_000
/** Wait before another try after a failure, e.g. while another program holds the lock. */
const RETRY_MS = 1000

const byService: Index<EndpointSlice> = {
  name: "kube-proxy/service",
  of: (slice) => (concerns(slice) ? [serviceKeyOf(slice)] : []),
}

/**
 * Keeps the kernel's NAT rules in step with Services and their endpoints. Source: pkg/proxy/iptables/proxier.go.
 * One synchronisation runs at a time; changes meanwhile are taken up by the next. Only chains that differ are written.
 */
export function createKubeProxy(context: ComponentContext, config: KubeProxyConfig): Component {
  const { informers, clock } = context
  const log = context.log.child({ component: "kube-proxy" })
  const host = config.host ?? hostIn()
  let applied: Ruleset | undefined
  let known: readonly ServicePort[] = []
  /** Services whose ports have to be worked out again; all others are taken from `ports`. */
  const dirty = new Set<string>()
  const ports = new Map<string, readonly ServicePort[]>()
  let syncing: Promise<void> | undefined
  let wanted = false
  let timer: Timer | undefined
  let unsubscribe: (() => void)[] = []
  let problem: string | undefined = "not started"
  let stopped = false

  function changed(key: string): void {
    dirty.add(key)
    request()
  }

  function request(): void {
    if (wanted || stopped) return
    wanted = true
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
      try {
        await sync()
        problem = undefined
      } catch (err) {
        problem = err instanceof Error ? err.message : String(err)
        log.error("Could not write iptables rules; will retry", { err })
        applied = undefined // unknown what was written: write all
        clock.setTimeout(request, RETRY_MS)
      }
    }
  }

  async function sync(): Promise<void> {
    for (const key of dirty) {
      const service = informers.of(Service).get(key)
      const found =
        service === undefined
          ? []
          : servicePorts(service, informers.of(EndpointSlice).by(byService, key), config.nodeName)
      if (found.length === 0) ports.delete(key)
      else ports.set(key, found)
    }
    dirty.clear()
    const current = [...ports.values()].flat()
    const rules = rulesFor(current, config)
    const text = transition(applied, rules)
    if (text === undefined) return
    const first = applied === undefined
    await restore(host, text)
    if (first) await ensureJumps(host)
    applied = rules
    const stale = staleConnections(known, current)
    known = current
    await forget(host, stale)
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
      await Promise.all([informers.of(Service).whenSynced(), informers.of(EndpointSlice).whenSynced()])
      signal.throwIfAborted()
      stopped = false
      // Lets node ports answer on loopback; KUBE-FIREWALL keeps others out. Not writable in some containers, where it is then left alone.
      if (config.host === undefined)
        await writeFile("/proc/sys/net/ipv4/conf/all/route_localnet", "1").catch(() => undefined)
      const ofService = (service: Service) => changed(`${service.metadata.namespace}/${service.metadata.name}`)
      const ofSlice = (slice: EndpointSlice) => {
        if (concerns(slice)) changed(serviceKeyOf(slice))
      }
      unsubscribe = [
        informers.of(Service).on({ added: ofService, updated: ofService, deleted: ofService }),
        informers.of(EndpointSlice).on({ added: ofSlice, updated: ofSlice, deleted: ofSlice }),
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
      await syncing
    },
  }
}
