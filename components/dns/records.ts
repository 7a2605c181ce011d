import { isIPv6 } from "node:net"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice, serviceKeyOf } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import type { Index, Lister, Listers } from "../../pkg/client/informer.ts"
import { unnoted, type ServicesAlone } from "./noted-services.ts"

/** A record of the cluster's zone, without its name: `data` is an address, a name, or for SRV a port and a name. */
export type Data =
  | { readonly type: "A" | "AAAA" | "CNAME" | "NS" | "PTR" | "TXT"; readonly data: string }
  | {
      readonly type: "SRV"
      readonly data: { readonly port: number; readonly target: string; readonly priority: 0; readonly weight: number }
    }

/** The Service of the cluster's DNS, by whose name and addresses the zone's name server is known. */
const OWN_SERVICE = "kube-system/kube-dns"

/** What is known of a name: nothing of the kind exists, or these records (none of the asked type may be among them). */
export type Answer = readonly Data[] | undefined

/** More SRV records than a message can hold. */
const MOST_TARGETS = 4096

interface Port {
  readonly name?: string | undefined
  readonly protocol?: string | undefined
  readonly port?: number | undefined
}
type PortFilter = (port: Port) => boolean

/** An endpoint of a Service, with a list of ports from each slice that has it. */
interface Endpoint {
  readonly ip: string
  readonly host: string
  readonly ports: (readonly Port[])[]
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

  /**
   * Returns what is known of a name. A Service, and an endpoint of a headless one, also has SRV records of all its
   * ports, which are made only where `type` asks for them. Source: CoreDNS kubernetes plugin, findServices.
   */
  find(name: string, type?: string): Answer {
    if (name === this.#domain) return this.#nameServer()
    const labels = name
      .slice(0, -this.#domain.length - 1)
      .split(".")
      .reverse()
    const [kind, namespace, ...rest] = labels
    if (kind === "dns" && namespace === "ns" && rest.length === 0) return this.#ownAddresses()
    if (kind === "dns-version" && namespace === undefined) return [{ type: "TXT", data: "1.1.0" }]
    if (kind !== "svc" && kind !== "pod") return undefined
    if (namespace === undefined) return []
    if (this.#namespaces.get(namespace) === undefined) return undefined
    if (rest.length === 0) return []
    return kind === "svc" ? this.#ofService(namespace, rest, type === "SRV") : podAddress(rest)
  }

  /** Source: CoreDNS kubernetes plugin, nsAddrs: the name of its own Service, or `ns.dns` without one. */
  #nameServer(): Answer {
    const own = this.#services.get(OWN_SERVICE)
    return [{ type: "NS", data: own === undefined ? `ns.dns.${this.#domain}` : this.#nameOf(own) }]
  }

  #ownAddresses(): Answer {
    const own = this.#services.get(OWN_SERVICE)
    return own === undefined ? [] : this.#alone.run(own, () => addressesOf(own))
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
  #ofService(namespace: string, [name = "", ...rest]: readonly string[], wantsPorts: boolean): Answer {
    const service = this.#services.get(`${namespace}/${name}`)
    return service === undefined ? undefined : this.#alone.run(service, () => this.#find(service, rest, wantsPorts))
  }

  #find(service: Service, [first, second, ...more]: readonly string[], wantsPorts: boolean): Answer {
    if (more.length > 0) return undefined
    if (service.spec.type === "ExternalName")
      return first === undefined
        ? [{ type: "CNAME", data: (service.spec.externalName ?? "").replace(/\.$/, "") }]
        : undefined
    const headless = service.spec.clusterIP === "None"
    if (first === undefined) {
      const addresses = headless ? this.#addressesOf(service) : addressesOf(service)
      return addresses !== undefined && wantsPorts ? this.#srv(service, headless, anyPort, anyHost) : addresses
    }
    if (first.startsWith("_"))
      return this.#ports(service, first.slice(1), second === undefined ? undefined : second.slice(1), headless)
    if (!headless || second !== undefined) return undefined
    const hosts = this.#endpointsOf(service).filter(({ host }) => host === first)
    if (hosts.length === 0) return undefined
    return wantsPorts
      ? this.#srv(service, headless, anyPort, (host) => host === first)
      : hosts.map(({ ip }) => address(ip))
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
    const matches: PortFilter = (each) =>
      (each.protocol ?? "TCP").toLowerCase() === protocol && (each.name ?? "") === port
    if (port === undefined)
      return (service.spec.ports ?? []).some((each) => each.protocol.toLowerCase() === protocol) ? [] : undefined
    const found = this.#srv(service, headless, matches, anyHost)
    return found.length === 0 ? undefined : found
  }

  /** Returns the records of all ports that match; of a Service with very many, as many as any message can hold. */
  #srv(service: Service, headless: boolean, matches: PortFilter, isWanted: (host: string) => boolean): readonly Data[] {
    const name = this.#nameOf(service)
    const hosts = headless
      ? this.#endpointsOf(service, matches)
          .filter(({ host }) => isWanted(host))
          .map(({ host, ports }) => ({ target: `${host}.${name}`, ports }))
      : [{ target: name, ports: [(service.spec.ports ?? []).filter(matches)] }]
    // The addresses of one host, of both families for instance, are one target.
    const targets = new Map<string, { readonly port: number; readonly target: string }>()
    for (const { target, ports } of hosts)
      for (const list of ports)
        for (const { port = 0 } of list) {
          if (targets.size === MOST_TARGETS) break
          targets.set(`${port} ${target}`, { port, target })
        }
    const weight = Math.max(1, Math.floor(100 / targets.size))
    return [...targets.values()].map((target) => ({ type: "SRV", data: { ...target, priority: 0, weight } }))
  }

  /** Returns the ready endpoints, each with those ports of its slices that match. The lists of ports are shared. */
  #endpointsOf(service: Service, matches: PortFilter = noPort): readonly Endpoint[] {
    const slices = this.#slices.by(byService, `${service.metadata.namespace}/${service.metadata.name}`)
    const found = new Map<string, Endpoint>()
    for (const { endpoints, ports } of slices) {
      const shared = (ports ?? []).filter(matches)
      for (const { addresses, hostname, conditions } of endpoints ?? []) {
        if (conditions?.ready === false && service.spec.publishNotReadyAddresses !== true) continue
        for (const ip of addresses) {
          // Several hosts can have one address: pods in the network of their node.
          const host = hostname ?? dashed(ip)
          const key = `${host} ${ip}`
          const known = found.get(key)
          if (known === undefined) found.set(key, { ip, host, ports: [shared] })
          else known.ports.push(shared)
        }
      }
    }
    return [...found.values()]
  }

  #nameOf({ metadata }: Service): string {
    return `${metadata.name}.${metadata.namespace}.svc.${this.#domain}`
  }
}

const anyPort: PortFilter = () => true
const noPort: PortFilter = () => false
const anyHost = (): boolean => true

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
