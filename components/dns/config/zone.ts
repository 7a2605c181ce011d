import { isDNS1123Subdomain } from "../../../pkg/apimachinery/validation/names.ts"

/**
 * How queries for a zone are answered. The first that knows the name answers: hosts, nodes, the cluster's records, then
 * a forward.
 */
export interface Zone {
  /** In lower case, without a dot at the end; empty for the root. */
  readonly name: string
  readonly rewrites: readonly Rewrite[]
  /** Whether one query of a pod is answered with the result for its whole search list. */
  readonly autopath: boolean
  readonly hosts?: HostsOptions
  /** Whether the cluster's own names are answered in this zone. */
  readonly cluster: boolean
  readonly forwards: readonly ForwardOptions[]
  readonly cache?: CacheOptions
  /** Whether every query is logged. */
  readonly logs: boolean
}

export interface Rewrite {
  readonly match: "exact" | "prefix" | "suffix" | "substring"
  readonly from: string
  readonly to: string
  /** Whether later rules are applied to the rewritten name. */
  readonly goesOn: boolean
}

export interface HostsOptions {
  readonly entries: readonly { readonly ip: string; readonly name: string }[]
  /** Seconds. */
  readonly ttl: number
  /**
   * Whether names without an entry are looked up elsewhere. When false, they get NXDOMAIN in a zone that has neither
   * the cluster's names nor a forward; in other zones they are looked up all the same.
   */
  readonly fallsThrough: boolean
  readonly reverse: boolean
}

export interface ForwardOptions {
  /** The zone that is forwarded: this name and all names below it. */
  readonly from: string
  readonly except: readonly string[]
  readonly servers: readonly ForwardServer[]
  /** The protocol to the servers; `client` is the one that the client used. */
  readonly protocol: "client" | "udp" | "tcp"
  readonly policy: "random" | "round_robin" | "sequential"
  /** The number of failures in a row after which a server is asked last for a while; 0 never does that. */
  readonly maxFails: number
  /** The most queries that may wait for these servers at once. */
  readonly maxConcurrent: number
}

export interface ForwardServer {
  readonly address: string
  readonly port: number
}

/** Limits of the cache: `capacity` in answers, `ttl` and `minTtl` in seconds. */
export interface CacheOptions {
  readonly success: { readonly capacity: number; readonly ttl: number; readonly minTtl: number }
  readonly denial: { readonly capacity: number; readonly ttl: number; readonly minTtl: number }
}

/**
 * Returns the name of a zone in lower case and without the dot at the end, from texts such as `foo.example.`, `.` and
 * `EXAMPLE`; undefined for an invalid name.
 */
export function zoneName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "")
  return name === "" || isDNS1123Subdomain(name.replaceAll("_", "-")) === undefined ? name : undefined
}

/** Returns whether a name is the zone's own name or below it. */
export const isWithin = (name: string, zone: string): boolean =>
  zone === "" || name === zone || name.endsWith(`.${zone}`)
