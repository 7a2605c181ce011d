import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { DnsConfig } from "../../../pkg/cri/sandbox.ts"
import type { KubeletConfig } from "../model/config.ts"

export interface Resolver {
  readonly servers: readonly string[]
  readonly searches: readonly string[]
  readonly options: readonly string[]
}

/**
 * glibc's limits, which upstream keeps too. Source: pkg/apis/core/validation MaxDNSNameservers, MaxDNSSearchPaths,
 * MaxDNSSearchListChars.
 */
const MAX_SERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_LENGTH = 2048

/** Reads a resolv.conf. Later `search` and `options` lines replace earlier ones. */
export function parseResolvConf(text: string): Resolver {
  let servers: string[] = []
  let searches: string[] = []
  let options: string[] = []
  for (const line of text.split("\n")) {
    const [key, ...values] = line
      .replace(/[#;].*$/, "")
      .trim()
      .split(/\s+/)
    if (key === "nameserver" && values[0] !== undefined) servers = [...servers, values[0]]
    if (key === "search") searches = values.map((domain) => (domain === "." ? domain : domain.replace(/\.$/, "")))
    if (key === "options") options = values
  }
  return { servers, searches, options }
}

type ClusterDns = Pick<KubeletConfig, "clusterDns" | "clusterDomain">

/** What was made last for a node's pods without a dnsConfig, and of what. There are very many, mostly alike in this. */
const lastOf = new WeakMap<Resolver, { readonly of: readonly unknown[]; readonly dns: DnsConfig }>()

/**
 * What the pod's resolv.conf says, by dnsPolicy and dnsConfig. `host` is the node's own.
 * Source: pkg/kubelet/network/dns/dns.go GetPodDNS.
 */
export function podDns(pod: Pod, cluster: ClusterDns, host: Resolver): DnsConfig {
  const { dnsPolicy, hostNetwork, dnsConfig } = pod.spec
  if (dnsConfig !== undefined) return madeDns(pod, cluster, host)
  const of = [cluster.clusterDns, cluster.clusterDomain, dnsPolicy, hostNetwork, pod.metadata.namespace]
  const last = lastOf.get(host)
  if (last?.of.every((value, i) => value === of[i]) === true) return last.dns
  const dns = madeDns(pod, cluster, host)
  lastOf.set(host, { of, dns })
  return dns
}

function madeDns(pod: Pod, { clusterDns, clusterDomain }: ClusterDns, host: Resolver): DnsConfig {
  const { dnsPolicy, hostNetwork = false, dnsConfig } = pod.spec
  const usesCluster =
    clusterDns.length > 0 && (dnsPolicy === "ClusterFirstWithHostNet" || (dnsPolicy === "ClusterFirst" && !hostNetwork))
  const namespace = pod.metadata.namespace ?? "default"
  const base: Resolver =
    dnsPolicy === "None"
      ? { servers: [], searches: [], options: [] }
      : usesCluster
        ? {
            servers: clusterDns,
            searches:
              clusterDomain === ""
                ? host.searches
                : [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain, ...host.searches],
            options: ["ndots:5"],
          }
        : host
  const searches: string[] = []
  for (const domain of new Set([...base.searches, ...(dnsConfig?.searches ?? [])])) {
    if (searches.length === MAX_SEARCHES || [...searches, domain].join(" ").length > MAX_SEARCH_LENGTH) break
    searches.push(domain)
  }
  return {
    servers: [...new Set([...base.servers, ...(dnsConfig?.nameservers ?? [])])].slice(0, MAX_SERVERS),
    searches,
    options: mergedOptions(base.options, dnsConfig?.options ?? []),
  }
}

/** An option given by the pod replaces one of that name. */
function mergedOptions(
  base: readonly string[],
  own: readonly { readonly name?: string | undefined; readonly value?: string | undefined }[],
): string[] {
  const options = new Map(
    base.map((option) => {
      const colon = option.indexOf(":")
      return colon < 0 ? [option, undefined] : [option.slice(0, colon), option.slice(colon + 1)]
    }),
  )
  for (const { name = "", value } of own) options.set(name, value)
  return [...options].map(([name, value]) => (value === undefined || value === "" ? (name ?? "") : `${name}:${value}`))
}
