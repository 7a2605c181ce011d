import type { HostAlias } from "../../../pkg/api/core/v1/pod/podspec.ts"

/** The line by which others know a hosts file as ours. Source: pkg/kubelet/kubelet_pods.go managedHostsHeader. */
const HEADER = "# Kubernetes-managed hosts file.\n"
const HEADER_ON_HOST_NETWORK = "# Kubernetes-managed hosts file (host network).\n"

export interface HostsOfPod {
  readonly ips: readonly string[]
  readonly hostname: string
  readonly domain: string
  readonly aliases: readonly HostAlias[]
}

/** The /etc/hosts of a pod with a network of its own. */
export function hostsFile({ ips, hostname, domain, aliases }: HostsOfPod): string {
  const own = ips.map((ip) => (domain === "" ? `${ip}\t${hostname}\n` : `${ip}\t${hostname}.${domain}\t${hostname}\n`))
  return [
    HEADER,
    "127.0.0.1\tlocalhost\n",
    "::1\tlocalhost ip6-localhost ip6-loopback\n",
    "fe00::0\tip6-localnet\n",
    "fe00::0\tip6-mcastprefix\n",
    "fe00::1\tip6-allnodes\n",
    "fe00::2\tip6-allrouters\n",
    ...own,
    aliasLines(aliases),
  ].join("")
}

/** Of a pod on the node's network: the node's own file and the aliases. */
export const hostNetworkHostsFile = (nodeFile: string, aliases: readonly HostAlias[]): string =>
  `${HEADER_ON_HOST_NETWORK}${nodeFile}${aliasLines(aliases)}`

const aliasLines = (aliases: readonly HostAlias[]): string =>
  aliases.length === 0
    ? ""
    : "\n# Entries added by HostAliases.\n" +
      `${aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join("\t")}\n`).join("")}`
