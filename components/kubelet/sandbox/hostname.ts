import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

const MAX_HOSTNAME = 63
const MAX_FQDN = 64

export interface PodHostname {
  /** As `hostname` in the pod says it. */
  readonly hostname: string
  /** The DNS name below the subdomain, or "" without one. */
  readonly domain: string
}

/**
 * Source: pkg/kubelet/kubelet_pods.go GeneratePodHostNameAndDomain, truncatePodHostnameIfNeeded, pkg/kubelet/util
 * SetNodeNameFQDN.
 * @throws Error when the full name is wanted and longer than the kernel takes
 */
export function podHostname(pod: Pod, clusterDomain: string, nodeHostname: string): PodHostname {
  const { hostNetwork, hostname, hostnameOverride, subdomain, setHostnameAsFQDN } = pod.spec
  if (hostnameOverride !== undefined) return { hostname: hostnameOverride, domain: "" }
  if (hostNetwork === true) return { hostname: nodeHostname, domain: "" }
  const own = hostname ? hostname : (pod.metadata.name ?? "").slice(0, MAX_HOSTNAME).replace(/(?<![-.])[-.]+$/, "")
  const domain = subdomain ? `${subdomain}.${pod.metadata.namespace ?? ""}.svc.${clusterDomain}` : ""
  if (setHostnameAsFQDN !== true || domain === "") return { hostname: own, domain }
  const full = `${own}.${domain}`
  if (full.length > MAX_FQDN)
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (64 characters ` +
        `is the max, ${full.length} characters requested)`,
    )
  return { hostname: full, domain }
}
