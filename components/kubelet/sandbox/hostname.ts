import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

const MAX_HOSTNAME = 63
const MAX_FQDN = 64

export interface PodHostname {
  /** The short name, by which the pod's hosts file knows it too. */
  readonly hostname: string
  /** The DNS name below the subdomain, or "" without one. */
  readonly domain: string
}

/** Source: pkg/kubelet/kubelet_pods.go GeneratePodHostNameAndDomain, truncatePodHostnameIfNeeded. */
export function podHostname(pod: Pod, clusterDomain: string, nodeHostname: string): PodHostname {
  const { hostNetwork, hostname, hostnameOverride, subdomain } = pod.spec
  if (hostnameOverride !== undefined) return { hostname: truncated(hostnameOverride), domain: "" }
  if (hostNetwork === true) return { hostname: nodeHostname, domain: "" }
  const domain = subdomain ? `${subdomain}.${pod.metadata.namespace ?? ""}.svc.${clusterDomain}` : ""
  return { hostname: truncated(hostname ? hostname : (pod.metadata.name ?? "")), domain }
}

/**
 * Returns what `hostname` prints in the pod: its short name, or the full one where the pod wants that
 * (`setHostnameAsFQDN`). Source: pkg/kubelet/util GetNodenameForKernel.
 * @throws Error when the full name is wanted and longer than the kernel takes
 */
export function kernelHostname(pod: Pod, clusterDomain: string, nodeHostname: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain, nodeHostname)
  if (pod.spec.setHostnameAsFQDN !== true || domain === "") return hostname
  const full = `${hostname}.${domain}`
  if (full.length > MAX_FQDN)
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (64 characters ` +
        `is the max, ${full.length} characters requested)`,
    )
  return full
}

const truncated = (name: string): string =>
  name.length <= MAX_HOSTNAME ? name : name.slice(0, MAX_HOSTNAME).replace(/(?<![-.])[-.]+$/, "")
