import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { Upkeep } from "../../pkg/component/upkeep.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import { holdAddresses } from "./address.ts"
import { readCustom } from "./config/custom.ts"
import { CACHE_DEFAULTS } from "./config/read-zone.ts"
import type { ForwardServer, Zone } from "./config/zone.ts"
import { nodeTable } from "./hosts.ts"
import { openListeners } from "./listeners.ts"
import { DnsMetrics } from "./metrics.ts"
import { serveMetrics } from "./metrics-server.ts"
import { notedServices, unnoted } from "./noted-services.ts"
import { Records } from "./records.ts"
import { Resolver } from "./resolver.ts"
import { Responder } from "./responder.ts"

export const DNS_PORT = 53
/** The port at which CoreDNS serves its metrics too. */
export const DNS_METRICS_PORT = 9153

export interface DnsConfig {
  /** The addresses that pods query: the cluster IPs of the Service kube-dns, one of each family. */
  readonly addresses: readonly string[]
  readonly port?: number
  /** The port of `/metrics`, `/health` and `/ready` on the same addresses; without it they are not served. */
  readonly metricsPort?: number
  /** e.g. cluster.local */
  readonly domain: string
  /** The servers to which queries for all other names are forwarded: those of the host's resolv.conf. */
  readonly upstreams: readonly ForwardServer[]
  /** The search list of the host's resolv.conf. */
  readonly searches?: readonly string[]
  /** Whether `addresses` must first be put on a network interface of the host; false where they exist, as in tests. */
  readonly holdAddresses: boolean
}

/** The ConfigMap in kube-system that changes how names are answered; k3s uses the same name. */
export const CUSTOM_CONFIG = "coredns-custom"
const CUSTOM_KEY = `kube-system/${CUSTOM_CONFIG}`
/** The longest time for which answers of upstream servers are cached, in seconds. Source: k3s manifests/coredns.yaml. */
const LONGEST_KEPT = 30
const MAX_FAILS = 2
const MAX_CONCURRENT = 1000

/**
 * Answers the DNS queries of pods: names of the cluster from informers, other names by forwarding. It behaves like
 * CoreDNS in k3s, and reads the same ConfigMap kube-system/coredns-custom.
 */
export function createDns(context: ComponentContext, config: DnsConfig): Component {
  const { informers, random, clock, client } = context
  const log = context.log.child({ component: "dns" })
  const { addresses, domain, port = DNS_PORT, metricsPort } = config
  const metrics = new DnsMetrics()
  const events = createEventRecorder({ client, clock, log }, "k3ts-dns")
  const { quarantine } = context
  const alone = quarantine === undefined ? unnoted : notedServices(quarantine, { events, log })
  const root = rootZone(config)
  let open: (() => Promise<void>)[] = []
  let problem: string | undefined = "not started"

  /** Applies the ConfigMap as it is now, and reports the parts that are ignored in the log and in an Event. */
  function follow(resolver: Resolver, responder: Responder): void {
    const custom = informers.of(ConfigMap).get(CUSTOM_KEY)
    const { zones, problems } = readCustom(root, custom?.data ?? {})
    resolver.use(zones)
    responder.forget()
    if (custom === undefined || problems.length === 0) return
    log.warn("Ignored parts of the DNS configuration", { configMap: CUSTOM_CONFIG, problems: problems.join("; ") })
    events.event(custom, "Warning", "InvalidConfiguration", `Ignored: ${problems.slice(0, 10).join("; ")}`)
  }

  return {
    name: "dns",
    problem: () => problem,
    async start(signal) {
      const resolver = new Resolver([root], {
        records: new Records(informers, domain, alone),
        domain,
        nodes: nodeTable(informers.of(Node)),
        // Pods are watched only when a zone uses autopath.
        pods: () => informers.of(Pod),
        searches: config.searches ?? [],
        clock,
        random,
        log,
        metrics,
      })
      const responder = new Responder({ resolver, metrics, clock, log })
      const forget = () => responder.forget()
      const forgetting = { added: forget, updated: forget, deleted: forget }
      const following = ({ metadata }: ConfigMap) => {
        if (keyFrom(metadata) === CUSTOM_KEY) follow(resolver, responder)
      }
      const unsubscribe = [
        informers.of(Service).on(forgetting),
        informers.of(EndpointSlice).on(forgetting),
        informers.of(Namespace).on(forgetting),
        informers.of(Node).on({ ...forgetting, updated: (node, old) => void (sameAddresses(node, old) || forget()) }),
      ]
      open.push(async () => unsubscribe.forEach((end) => end()))
      const customs = informers.of(ConfigMap)
      await informers.whenSynced()
      unsubscribe.push(customs.on({ added: following, updated: following, deleted: following }))
      if (config.holdAddresses) {
        await holdAddresses(addresses)
        const upkeep = new Upkeep({
          clock,
          mend: () => holdAddresses(addresses),
          failed: (err) => log.warn("Failed to repair the addresses of the DNS server; will retry", { err }),
        })
        upkeep.start()
        open.push(() => upkeep.stop())
      }
      signal.throwIfAborted()
      const respond = responder.respond.bind(responder)
      const listeners = await openListeners({ addresses, port, respond, clock, log })
      open.push(() => listeners.close())
      if (metricsPort !== undefined)
        for (const address of addresses)
          open.push(
            await serveMetrics(address, metricsPort, {
              text: () => metrics.registry.text(),
              isReady: () => problem === undefined,
            }),
          )
      problem = undefined
      log.info("Serving DNS", {
        addresses: addresses.join(","),
        domain,
        upstreams: config.upstreams.map(({ address }) => address).join(","),
      })
    },
    async stop() {
      problem = "stopped"
      const closing = open
      open = []
      await Promise.all(closing.map((close) => close()))
      await events.stop()
    },
  }
}

/** Returns the root zone without a ConfigMap. Source: k3s manifests/coredns.yaml. */
function rootZone({ upstreams, addresses, port: ownPort = DNS_PORT }: DnsConfig): Zone {
  const servers = upstreams.filter(({ address, port }) => port !== ownPort || !addresses.includes(address))
  const forward = {
    from: "",
    except: [],
    servers,
    protocol: "client",
    policy: "sequential",
    maxFails: MAX_FAILS,
    maxConcurrent: MAX_CONCURRENT,
  } as const
  const { success, denial } = CACHE_DEFAULTS
  return {
    name: "",
    rewrites: [],
    autopath: false,
    cluster: true,
    forwards: servers.length === 0 ? [] : [forward],
    cache: { success: { ...success, ttl: LONGEST_KEPT }, denial: { ...denial, ttl: LONGEST_KEPT } },
    logs: false,
  }
}

/** Returns whether two versions of a node have the same addresses: the status changes often, the addresses seldom. */
const sameAddresses = (a: Node, b: Node): boolean =>
  JSON.stringify(a.status?.addresses) === JSON.stringify(b.status?.addresses)
