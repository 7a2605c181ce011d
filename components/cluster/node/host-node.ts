import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Taint } from "../../../pkg/api/core/v1/node/nodespec.ts"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Component } from "../../../pkg/component/component.ts"
import { OwnPorts, type OwnPort } from "../../../pkg/component/own-ports.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { connectCri } from "../../../pkg/cri/client.ts"
import { detectCgroupDriver } from "../../containerd/host.ts"
import { BRIDGE } from "../../containerd/network/cni.ts"
import { withoutSourceGuard } from "../../containerd/network/sources/source-guard.ts"
import { createPodNetwork, presumeNetwork, type BetweenNodes } from "../../containerd/network/pod-network.ts"
import { containerdPaths } from "../../containerd/paths.ts"
import { createDns, CUSTOM_CONFIG, DNS_METRICS_PORT, type DnsConfig } from "../../dns/dns.ts"
import { loopbackServing, type ProxyServing } from "../../kube-proxy/health/local-servers.ts"
import { createKubeProxy, type KubeProxyConfig } from "../../kube-proxy/proxier.ts"
import { createIngress, type IngressConfig } from "../../ingress/ingress.ts"
import {
  createNetworkPolicy,
  removeNetworkPolicies,
  type NetworkPolicyComponent,
} from "../../network-policy/network-policy.ts"
import { createLocalStorage } from "../../local-storage/local-storage.ts"
import { DEVICE_PLUGINS_FOLDER } from "../../kubelet/devicemanager/plugin-socket.ts"
import { POD_RESOURCES_FOLDER } from "../../kubelet/podresources/pod-resources.ts"
import { createKubelet } from "../../kubelet/kubelet.ts"
import { CONTAINER_LOGS, kubeletFolders, POD_LOGS } from "../../kubelet/model/config.ts"
import type { KubeletTuning } from "../../kubelet/model/tuning.ts"
import { criRuntime } from "../../kubelet/runtime/cri/cri-runtime.ts"
import { followingNode, nodeUser, systemAccount, type Tools } from "../clients.ts"
import type { OrderedComponent } from "../lifecycle.ts"
import { takeKubeletRoot } from "./kubelet-root.ts"
import { nodeContainerd, type NodeContainerdConfig } from "./node-containerd.ts"
import type { NodePlace } from "./node-place.ts"
import { Part } from "../part.ts"
import { runtimeCgroups } from "./runtime-cgroups.ts"

export interface HostNodeConfig extends NodeContainerdConfig {
  readonly nodeName: string
  /** Addresses of this machine, the primary one first. */
  readonly nodeIps: readonly string[]
  /** See KubeletConfig. */
  readonly externalIps: readonly string[]
  /** The socket of a container runtime that is already running; without it a containerd is started and supervised. */
  readonly containerRuntimeEndpoint?: string
  /** CIDR of the addresses of pods, or one of each family with the primary one first. */
  readonly clusterCidrs: readonly string[]
  /** The part of each cluster CIDR that the first node gets; empty when this is not the first node. */
  readonly firstNodeRanges: readonly string[]
  /** How pods of several nodes reach each other. */
  readonly betweenNodes: BetweenNodes
  readonly clusterDomain: string
  /** The addresses of the cluster's DNS, which answers here, one of each family of Services; absent for none. */
  readonly dns?: Pick<DnsConfig, "addresses" | "upstreams" | "searches">
  /** How Services are served; absent where nobody serves them here. */
  readonly kubeProxy?: Pick<KubeProxyConfig, "mode" | "nodePortCidrs" | "closeWaitSeconds"> & {
    /** Where its health and its metrics are served, if not at the usual places. */
    readonly serving?: Partial<ProxyServing>
  }
  /** How Ingresses and Gateways are served; absent where neither is. */
  readonly ingress?: Pick<
    IngressConfig,
    "apiPort" | "httpPort" | "httpsPort" | "accessLog" | "ingresses" | "gateway" | "candidate"
  >
  /** The ports on which this program always listens at addresses of this machine. */
  readonly ownPorts: readonly OwnPort[]
  /** Whether NetworkPolicies are enforced. */
  readonly networkPolicy: boolean
  /** The folder of volumes of the class local-path; undefined when the class is disabled. */
  readonly localStoragePath?: string
  /** The resolv.conf of pods with dnsPolicy Default. */
  readonly resolvConf: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /** See KubeletConfig. */
  readonly maxPods: number
  readonly syncFrequencyMs: number
  readonly tuning: KubeletTuning
  /** The folder of the kubelet's files; in the data directory where it is absent. */
  readonly kubeletRoot?: string
  /** The folder of the manifests of static pods; in the data directory where it is absent. */
  readonly staticPods?: string
}

/**
 * Creates the components that make this machine a node: a container runtime, the kubelet, kube-proxy, DNS and others.
 */
export function hostNode(
  tools: Tools,
  { clients, connectors, metrics, serving, addresses, early, after, more }: NodePlace,
  config: HostNodeConfig,
): readonly OrderedComponent[] {
  const { clock, log, tracing } = tools
  const { nodeName, clusterCidrs, containerRuntimeEndpoint: endpoint, dns } = config
  const node = { clients, user: nodeUser(nodeName), following: followingNode(nodeName) }
  const paths = containerdPaths(config.dataDir)
  const containerd = endpoint === undefined ? (early?.containerd ?? nodeContainerd(tools, config)) : undefined
  const detected = containerd?.cgroupDriver ?? detectCgroupDriver()
  const cri = containerd?.cri ?? connectCri(endpoint!, clock, tracing)
  const ownPorts = new OwnPorts(config.ownPorts)
  const parts: OrderedComponent[] = [...more]
  const add = (component: Component, ...needed: readonly string[]) => parts.push({ component, after: needed })

  const cgroups = runtimeCgroups(cri.runtime, detected, log)
  if (containerd === undefined) add(cgroups)
  else {
    if (config.firstNodeRanges.length > 0) presumeNetwork(paths, config.firstNodeRanges)
    add(early?.component ?? containerd)
    if (!config.sourceGuard) add(withoutSourceGuard(log))
    add(
      new Part({
        name: "pod-network",
        clients,
        user: systemAccount("pod-network"),
        create: (context) =>
          createPodNetwork(context, {
            paths,
            nodeName,
            clusterCidrs,
            node: clients.clientFor(node.user),
            betweenNodes: config.betweenNodes,
            maxPods: config.maxPods,
          }),
      }),
      ...after,
    )
  }
  const policies = new Part({
    name: "network-policy",
    clients,
    user: systemAccount("network-policy"),
    create: (context) =>
      createNetworkPolicy(context, {
        nodeName,
        families: clusterCidrs.map(familyOf),
        bridge: BRIDGE,
        dnsAddresses: dns?.addresses ?? [],
        metrics,
      }),
  })
  // The kubelet reports pods that run already to it, and pods that start wait for it.
  if (config.networkPolicy) add(policies, ...after)
  else add(removeNetworkPolicies(log))
  add(
    new Part({
      name: "kubelet",
      ...node,
      create: (context) =>
        createKubelet(context, {
          nodeName,
          nodeIps: config.nodeIps,
          ...(addresses === undefined ? {} : { addresses }),
          externalIps: config.externalIps,
          ...kubeletFolders(config.dataDir),
          ...(config.staticPods === undefined ? {} : { staticPods: config.staticPods }),
          root: rootOf(config, log),
          podLogs: POD_LOGS,
          containerLogs: CONTAINER_LOGS,
          devicePlugins: DEVICE_PLUGINS_FOLDER,
          podResources: POD_RESOURCES_FOLDER,
          clusterDns: dns?.addresses ?? [],
          clusterDomain: config.clusterDomain,
          resolvConf: config.resolvConf,
          maxPods: config.maxPods,
          cgroupDriver: cgroups.driver,
          labels: config.labels,
          taints: config.taints,
          syncFrequencyMs: config.syncFrequencyMs,
          tuning: config.tuning,
          runtime: criRuntime(cri, cgroups.driver, clock, () => containerd?.moreImages()),
          nodes: connectors,
          serving: serving ?? "nowhere",
          ownPorts,
          metrics,
          networkReady: config.networkPolicy ? (pod, ips) => admitted(policies.component, pod, ips) : undefined,
        }),
    }),
    ...after,
    ...(config.networkPolicy ? [policies.name] : []),
    containerd?.name ?? cgroups.name,
  )
  const { localStoragePath: root } = config
  if (root !== undefined)
    add(
      new Part({
        name: "local-storage",
        clients,
        user: systemAccount("local-path-provisioner"),
        create: (context) => createLocalStorage(context, { nodeName, root }),
      }),
      ...after,
    )
  const { kubeProxy } = config
  if (kubeProxy !== undefined)
    add(
      new Part({
        name: "kube-proxy",
        clients,
        user: { name: "system:kube-proxy" },
        create: (context) =>
          createKubeProxy(context, {
            ...kubeProxy,
            nodeName,
            clusterCidrs,
            ownAddresses: dns?.addresses ?? [],
            ownPorts: config.ownPorts,
            metrics,
            serving: { ...loopbackServing(clusterCidrs.map(familyOf)), ...kubeProxy.serving },
          }),
      }),
      ...after,
    )
  const { ingress, nodeIps } = config
  if (ingress !== undefined)
    add(
      new Part({
        name: "ingress",
        clients,
        user: systemAccount("k3ts-ingress"),
        // Limits the informer to Secrets of type kubernetes.io/tls.
        following: { fieldSelectors: new Map([[Secret as Resource, "type=kubernetes.io/tls"]]) },
        create: (context) => createIngress(context, { ...ingress, nodeIps, ownPorts, metrics }),
      }),
      ...after,
    )
  if (dns !== undefined)
    add(
      new Part({
        name: "dns",
        clients,
        user: systemAccount("kube-dns"),
        following: { fieldSelectors: new Map([[ConfigMap as Resource, `metadata.name=${CUSTOM_CONFIG}`]]) },
        create: (context) =>
          createDns(context, {
            ...dns,
            domain: config.clusterDomain,
            metricsPort: DNS_METRICS_PORT,
            holdAddresses: true,
          }),
      }),
      ...after,
    )
  return parts
}

function rootOf({ dataDir, kubeletRoot }: HostNodeConfig, log: Logger): string {
  const { root, kept } = takeKubeletRoot(dataDir, kubeletRoot)
  if (kept !== undefined)
    log.info("Kept the folder of the kubelet", { folder: root, wanted: kubeletRoot, because: kept })
  return root
}

async function admitted(
  policies: NetworkPolicyComponent | undefined,
  pod: Pod,
  addresses: readonly string[],
): Promise<void> {
  if (policies === undefined) throw new Error("network policies are not enforced yet")
  await policies.admit(pod, addresses)
}
