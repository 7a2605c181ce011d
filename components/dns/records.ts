import { isIPv6 } from "node:net"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice, serviceKeyOf } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import type { Index, Lister, Listers } from "../../pkg/client/informer.ts"
import { unnoted, type ServicesAlone } from "./noted-services.ts"

/** A record of the cluster's zone, without its name: `data` is an address, a name, or for SRV a port and a name. */
export type Data =
  | { readonly type: "A" | "AAAA" | "CNAME" | "PTR" | "TXT"; readonly data: string }
  | {
      readonly type: "SRV"
      readonly data: { readonly port: number; readonly target: string; readonly priority: 0; readonly weight: number }
    }

/** What is known of a name: nothing of the kind exists, or these records (none of the asked type may be among them). */
export type Answer = readonly Data[] | undefined

/** A group of endpoints of one Service: their addresses and the ports they share. */
interface Endpoint {
  readonly ip: string
  readonly host: string
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[]
}

const byService: Index<EndpointSlice> = {
  name: "dns/service",
  of: (slice) => [serviceKeyOf(slice)],
}
const byAddress: Index<EndpointSlice> = {
  name: "dns/address",
  of: ({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses),
}
const byClusterIp: Index<Service> = {
  name: "dns/cluster-ip",
  of: ({ spec }) => (spec.clusterIPs ?? []).filter((ip) => ip !== "None"),
}

/**
 * Looks up names of a cluster in informers. Source: the Kubernetes DNS specification 1.1.0 (kubernetes/dns
 * docs/specification.md). `domain` has no dot at the end, e.g. cluster.local; names must be in lower case.
 */
export class Records {
  readonly #services: Lister<Service>
  readonly #slices: Lister<EndpointSlice>
  readonly #namespaces: Lister<Namespace>
  readonly #domain: string
  readonly #alone: ServicesAlone

  constructor(informers: Listers, domain: string, alone: ServicesAlone = unnoted) {
    this.#alone = alone
    this.#services = informers.of(Service)
    this.#slices = informers.of(EndpointSlice)
    this.#namespaces = informers.of(Namespace)
    this.#domain = domain
  }

  /** Whether the cluster answers the name; all others are forwarded. */
  owns(name: string): boolean {
    return name === this.#domain || name.endsWith(`.${this.#domain}`)
  }

  find(name: string): Answer {
    if (name === this.#domain) return []
    const labels = name
      .slice(0, -this.#domain.length - 1)
      .split(".")
      .reverse()
    const [kind, namespace, ...rest] = labels
    if (kind === "dns-version" && namespace === undefined) return [{ type: "TXT", data: "1.1.0" }]
    if (kind !== "svc" && kind !== "pod") return undefined
    if (namespace === undefined) return []
    if (this.#namespaces.get(namespace) === undefined) return undefined
    if (rest.length === 0) return []
    return kind === "svc" ? this.#ofService(namespace, rest) : podAddress(rest)
  }

  /** Returns the name of an address: of a Service, or of an endpoint of a headless Service. */
  reverse(ip: string): Answer {
    const [service] = this.#services.by(byClusterIp, ip)
    if (service !== undefined)
      return this.#alone.run(service, () => [{ type: "PTR" as const, data: this.#nameOf(service) }])
    const names = this.#slices.by(byAddress, ip).flatMap((slice) => {
      const owner = this.#services.get(serviceKeyOf(slice))
      if (owner === undefined || owner.spec.clusterIP !== "None") return []
      return this.#alone.run(owner, () =>
        (slice.endpoints ?? [])
          .filter(({ addresses }) => addresses.includes(ip))
          .map(({ hostname }) => `${hostname ?? dashed(ip)}.${this.#nameOf(owner)}`),
      )
    })
    return names.length === 0 ? undefined : [...new Set(names)].map((data) => ({ type: "PTR", data }))
  }

  /** The second argument has the labels before the namespace, nearest first: service, then host or _protocol, then _port. */
  #ofService(namespace: string, [name = "", ...rest]: readonly string[]): Answer {
    const service = this.#services.get(`${namespace}/${name}`)
    return service === undefined ? undefined : this.#alone.run(service, () => this.#find(service, rest))
  }

  #find(service: Service, [first, second, ...more]: readonly string[]): Answer {
    if (more.length > 0) return undefined
    if (service.spec.type === "ExternalName")
      return first === undefined
        ? [{ type: "CNAME", data: (service.spec.externalName ?? "").replace(/\.$/, "") }]
        : undefined
    const headless = service.spec.clusterIP === "None"
    if (first === undefined) return headless ? this.#addressesOf(service) : addressesOf(service)
    if (first.startsWith("_"))
      return this.#ports(service, first.slice(1), second === undefined ? undefined : second.slice(1), headless)
    if (!headless || second !== undefined) return undefined
    const hosts = this.#endpointsOf(service).filter(({ host }) => host === first)
    return hosts.length === 0 ? undefined : hosts.map(({ ip }) => address(ip))
  }

  /** Without an endpoint the name does not exist, as with CoreDNS. */
  #addressesOf(service: Service): Answer {
    const addresses = new Set(this.#endpointsOf(service).map(({ ip }) => ip))
    return addresses.size === 0 ? undefined : [...addresses].map(address)
  }

  /**
   * Returns the SRV records of a named port; `port` undefined stands for the protocol alone, which exists but has no
   * records.
   */
  #ports(service: Service, protocol: string, port: string | undefined, headless: boolean): Answer {
    const matches = (each: { readonly name?: string | undefined; readonly protocol?: string | undefined }) =>
      (each.protocol ?? "TCP").toLowerCase() === protocol && (each.name ?? "") === port
    if (port === undefined)
      return (service.spec.ports ?? []).some((each) => each.protocol.toLowerCase() === protocol) ? [] : undefined
    const name = this.#nameOf(service)
    const all = headless
      ? this.#endpointsOf(service).flatMap(({ host, ports }) =>
          ports.filter(matches).map((each) => ({ port: each.port, target: `${host}.${name}` })),
        )
      : (service.spec.ports ?? []).filter(matches).map((each) => ({ port: each.port, target: name }))
    // The addresses of one host, of both families for instance, are one target.
    const targets = [...new Map(all.map((each) => [`${each.port} ${each.target}`, each])).values()]
    if (targets.length === 0) return undefined
    const weight = Math.max(1, Math.floor(100 / targets.length))
    return targets.map((target) => ({ type: "SRV", data: { ...target, priority: 0, weight } }))
  }

  #endpointsOf(service: Service): readonly Endpoint[] {
    const slices = this.#slices.by(byService, `${service.metadata.namespace}/${service.metadata.name}`)
    const found = new Map<string, Endpoint>()
    for (const { endpoints, ports } of slices) {
      const shared = (ports ?? []).map(({ name = "", protocol = "TCP", port = 0 }) => ({ name, protocol, port }))
      for (const { addresses, hostname, conditions } of endpoints ?? []) {
        if (conditions?.ready === false && service.spec.publishNotReadyAddresses !== true) continue
        for (const ip of addresses) {
          // Several hosts can have one address: pods in the network of their node.
          const host = hostname ?? dashed(ip)
          const key = `${host} ${ip}`
          found.set(key, { ip, host, ports: [...(found.get(key)?.ports ?? []), ...shared] })
        }
      }
    }
    return [...found.values()]
  }

  #nameOf({ metadata }: Service): string {
    return `${metadata.name}.${metadata.namespace}.svc.${this.#domain}`
  }
}

const address = (ip: string): Data => ({ type: isIPv6(ip) ? "AAAA" : "A", data: ip })
const addressesOf = ({ spec }: Service): readonly Data[] => (spec.clusterIPs ?? []).map(address)

/** Returns the name of an endpoint without a hostname: `10-42-0-7` for 10.42.0.7. */
const dashed = (ip: string): string => ip.replaceAll(/[.:]/g, "-")

/**
 * Returns the address in a name such as `10-42-0-7.default.pod.cluster.local`: 10.42.0.7, whether or not such a pod
 * exists. Source: CoreDNS kubernetes plugin, `pods insecure`.
 */
function podAddress([label = "", ...more]: readonly string[]): Answer {
  if (more.length > 0) return undefined
  if (/^\d{1,3}(-\d{1,3}){3}$/.test(label)) {
    const ip = label.replaceAll("-", ".")
    return ip.split(".").every((part) => Number(part) < 256) ? [address(ip)] : undefined
  }
  const ip = label.replaceAll("-", ":")
  return isIPv6(ip) ? [address(ip)] : undefined
}
