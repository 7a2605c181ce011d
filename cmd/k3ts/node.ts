import { mkdirSync } from "node:fs"
import { createDns } from "../../components/dns/dns.ts"
import { createKubeProxy } from "../../components/kube-proxy/proxier.ts"
import { Containerd } from "../../components/containerd/containerd.ts"
import { detectCgroupDriver } from "../../components/containerd/host.ts"
import { containerdPaths } from "../../components/containerd/paths.ts"
import { createPodNetwork, presumeNetwork } from "../../components/containerd/network/pod-network.ts"
import { createKubelet, kubeletFolders } from "../../components/kubelet/kubelet.ts"
import { criRuntime } from "../../components/kubelet/runtime/cri/cri-runtime.ts"
import type { Component } from "../../pkg/component/component.ts"
import type { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { connectCri } from "../../pkg/cri/client.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"
import { addressText, parseCidr } from "./cidr.ts"
import type { Clients, Context } from "./context.ts"
import { kubeletContext } from "./kubelet-context.ts"
import { defaultNodeIp, defaultNodeName, defaultResolvConf, nameServers } from "./host.ts"
import type { Part } from "../../components/cluster/lifecycle.ts"
import { kubeletArgs, type ServerFlags } from "./server-flags.ts"

/**
 * Of the kubelet's endpoint, as upstream. Nothing listens there: what is served there is reached through the API
 * server.
 */
const KUBELET_PORT = 10250
/** Source: kubelet's --max-pods. */
const MAX_PODS = 110

export interface NodeOptions {
  readonly context: Context
  readonly clients: Clients
  readonly flags: ServerFlags
  readonly clusterDns: string
  /** Where the kubelet makes itself known for logs, exec and the like. */
  readonly nodes: NodeConnectors
  readonly metrics: Registry
}

/** What makes this machine a node: a container runtime, the kubelet, kube-proxy and DNS. */
export function nodeParts({ context, clients, flags, clusterDns, nodes, metrics }: NodeOptions): Part[] {
  const { clock, log } = context
  const { "data-dir": dataDir, "cluster-cidr": clusterCidr, "cluster-domain": clusterDomain, disable } = flags
  const nodeName = flags["node-name"] ?? defaultNodeName()
  const resolvConf = flags["resolv-conf"] ?? defaultResolvConf()
  const kubelet = kubeletContext(clients, nodeName)
  const cgroupDriver = detectCgroupDriver()

  const endpoint = flags["container-runtime-endpoint"]
  const paths = containerdPaths(dataDir)
  const pauseImage = flags["pause-image"]
  const containerd =
    endpoint === undefined
      ? new Containerd({ paths, clock, log, cgroupDriver, ...(pauseImage === undefined ? {} : { pauseImage }) })
      : undefined
  const cri = containerd?.cri ?? connectCri(endpoint!, clock)
  const parts: Part[] = []
  const add = (component: Component, ...after: string[]) => parts.push({ component, after })

  if (containerd !== undefined) {
    mkdirSync(paths.cniConfig, { recursive: true })
    presumeNetwork(paths, firstNodeRange(clusterCidr))
    add(containerd)
    add(createPodNetwork(kubelet, { paths, nodeName, clusterCidr }), "informers")
  }
  add(
    createKubelet(kubelet, {
      nodeName,
      nodeIps: flags["node-ip"].length > 0 ? flags["node-ip"] : [defaultNodeIp()],
      ...kubeletFolders(dataDir),
      podLogs: "/var/log/pods",
      clusterDns: disable.includes("dns") ? [] : [clusterDns],
      clusterDomain,
      resolvConf,
      maxPods: MAX_PODS,
      cgroupDriver,
      labels: Object.fromEntries(flags["node-label"]),
      taints: flags["node-taint"],
      port: KUBELET_PORT,
      ...kubeletArgs(flags),
      runtime: criRuntime(cri, cgroupDriver, clock, () => containerd?.moreImages()),
      nodes,
      metrics,
    }),
    "informers",
    ...(containerd === undefined ? [] : ["containerd"]),
  )
  if (!disable.includes("kube-proxy")) {
    add(
      createKubeProxy(clients.contextFor({ name: "system:kube-proxy" }), { nodeName, clusterCidr, metrics }),
      "informers",
    )
  }
  if (!disable.includes("dns")) {
    add(
      createDns(clients.contextFor(DNS_USER), {
        address: clusterDns,
        domain: clusterDomain,
        upstreams: nameServers(resolvConf),
        holdAddress: true,
      }),
      "informers",
    )
  }
  return parts
}

const DNS_USER = {
  name: "system:serviceaccount:kube-system:kube-dns",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
}

/** What the node IPAM controller gives the first node: a /24, or all of a smaller range. */
function firstNodeRange(clusterCidr: string): string {
  const { base, prefix } = parseCidr(clusterCidr)!
  return `${addressText(base)}/${Math.max(24, prefix)}`
}
