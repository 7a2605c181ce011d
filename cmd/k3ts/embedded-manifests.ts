import dns from "../../manifests/dns.yaml" with { type: "text" }
import dnsEndpoints from "../../manifests/dns-endpoints.yaml" with { type: "text" }
import { familyOf } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { ClusterNetwork } from "./config/network.ts"
import type { ServerFlags } from "./config/server-flags.ts"

/**
 * Returns the manifests that are part of the program and not disabled, with their parameters replaced: file name →
 * text.
 */
export function embeddedManifests(
  { disable, "disable-agent": disableAgent }: Pick<ServerFlags, "disable" | "disable-agent">,
  network: Pick<ClusterNetwork, "clusterDns">,
): ReadonlyMap<string, string> {
  const manifests = new Map<string, string>()
  // Without a DNS server, pods must not be configured to use it.
  if (!disable.includes("dns") && !disableAgent) manifests.set("dns.yaml", dnsManifest(network))
  return manifests
}

/** Returns the Service of the cluster's DNS with its endpoints, whose slices have one family each. */
function dnsManifest({ clusterDns }: Pick<ClusterNetwork, "clusterDns">): string {
  const service = fillIn(dns as string, {
    CLUSTER_DNS: clusterDns[0]!,
    CLUSTER_DNS_LIST: JSON.stringify(clusterDns),
    CLUSTER_DNS_FAMILIES: JSON.stringify(clusterDns.map(familyOf)),
    CLUSTER_DNS_POLICY: clusterDns.length > 1 ? "RequireDualStack" : "SingleStack",
  })
  const slices = clusterDns.map((address) =>
    fillIn(dnsEndpoints as string, {
      ADDRESS: address,
      FAMILY: familyOf(address),
      SUFFIX: familyOf(address) === "IPv4" ? "" : "-ipv6",
    }),
  )
  return [service, ...slices].join("---\n")
}

/** Replaces each `%{NAME}%`. @throws Error for one without a value */
const fillIn = (text: string, parameters: Readonly<Record<string, string>>): string =>
  text.replace(/%\{(\w+)\}%/g, (_, name: string) => {
    const value = parameters[name]
    if (value === undefined) throw new Error(`A manifest asks for the parameter ${name}, which has no value`)
    return value
  })
