import { isDNS1123Subdomain } from "../../../pkg/apimachinery/names.ts"

/** How names of a zone are answered: in this order, the first that knows a name answers. */
export interface Zone {
  /** In lower case, without a dot at the end; empty for the root. */
  readonly name: string
  readonly rewrites: readonly Rewrite[]
  /** Whether the names that a pod's search list makes of one name are tried for it at once. */
  readonly autopath: boolean
  readonly hosts?: HostsOptions
  /** Whether the cluster's own names are answered here. */
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
  /** Whether the rules after this one are tried too. */
  readonly goesOn: boolean
}

export interface HostsOptions {
  readonly entries: readonly { readonly ip: string; readonly name: string }[]
  /** Seconds. */
  readonly ttl: number
  /** Whether names that are not among the entries go on to what comes next; always true for other zones' names. */
  readonly fallsThrough: boolean
  readonly reverse: boolean
}

export interface ForwardOptions {
  /** The names that it is for: this one and all below it. */
  readonly from: string
  readonly except: readonly string[]
  readonly servers: readonly ForwardServer[]
  /** The protocol by which queries are forwarded; `client` is that of the client. */
  readonly protocol: "client" | "udp" | "tcp"
  readonly policy: "random" | "round_robin" | "sequential"
  /** Failures in a row after which a server is left out for a while; 0 for never. */
  readonly maxFails: number
  /** The most queries that may wait for these servers. */
  readonly maxConcurrent: number
}

export interface ForwardServer {
  readonly address: string
  readonly port: number
}

/** Seconds, and numbers of answers. */
export interface CacheOptions {
  readonly success: { readonly capacity: number; readonly ttl: number; readonly minTtl: number }
  readonly denial: { readonly capacity: number; readonly ttl: number; readonly minTtl: number }
}

/** `foo.example.`, `.` and `EXAMPLE` as names are compared; undefined for one that is no name. */
export function zoneName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "")
  return name === "" || isDNS1123Subdomain(name.replaceAll("_", "-")) === undefined ? name : undefined
}

/** Whether a name is a zone's own or below it. */
export const isWithin = (name: string, zone: string): boolean =>
  zone === "" || name === zone || name.endsWith(`.${zone}`)
