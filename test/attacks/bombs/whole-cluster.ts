/**
 * A program: a whole cluster in one process, as `k3ts server` composes it, with every component on. The node is
 * simulated, and kube-proxy and network policies write their rules nowhere. The parent process asks over IPC for the
 * longest turn of the event loop and for the size of the heap (turns.ts).
 */
import { writeFileSync } from "node:fs"
import { assemble, inOrder } from "../../../components/cluster/assemble.ts"
import { runComponents, type OrderedComponent } from "../../../components/cluster/lifecycle.ts"
import { besideControlPlane } from "../../../components/cluster/node/node-place.ts"
import { loneSimulatedNode } from "../../../components/cluster/node/simulated-node.ts"
import { systemAccount } from "../../../components/cluster/clients.ts"
import { Part } from "../../../components/cluster/part.ts"
import { createDns } from "../../../components/dns/dns.ts"
import { createIngress } from "../../../components/ingress/ingress.ts"
import { createKubeProxy } from "../../../components/kube-proxy/proxier.ts"
import { createNetworkPolicy } from "../../../components/network-policy/network-policy.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import type { Host } from "../../../pkg/netfilter/host.ts"
import { resolveFlags, splitArguments } from "../../../cmd/k3ts/cli/parse.ts"
import { clusterConfig, kubeletNames } from "../../../cmd/k3ts/config/cluster-config.ts"
import { networkOf } from "../../../cmd/k3ts/config/network.ts"
import { simulatedNodeConfig } from "../../../cmd/k3ts/config/node-config.ts"
import { serverFlags } from "../../../cmd/k3ts/config/server-flags.ts"
import { createContext } from "../../../cmd/k3ts/context.ts"
import { loggerOf } from "../../../cmd/k3ts/logger.ts"
import { Turns } from "./turns.ts"

/** Accepts every rule. Its `nft` is as new as k3ts needs. */
const nowhere: Host = {
  run: (_command, args) => Promise.resolve(args[0] === "--version" ? "nftables v1.0.6 (Lester Gooch #5)" : ""),
  feed: () => Promise.resolve(),
}

// The first to be killed where the machine's memory is exhausted. Source: proc_pid_oom_score_adj(5).
writeFileSync("/proc/self/oom_score_adj", "1000")
const flags = resolveFlags(serverFlags, {
  written: splitArguments(process.argv.slice(2), serverFlags),
  env: {},
  config: { common: {}, foreign: {} } as never,
})
const turns = new Turns()
const network = networkOf(flags)
const context = createContext(loggerOf(flags))
const config = clusterConfig(flags, network)
const cluster = assemble(context, { ...config, apiServer: { ...config.apiServer, ingress: true, gateway: true } })
const { clients, apiServer } = cluster
const place = besideControlPlane(cluster, kubeletNames(flags))
const { clusterCidrs } = network
const { spec } = simulatedNodeConfig(flags, network)

const after = [apiServer.name]
const parts: readonly OrderedComponent[] = [
  new Part({
    name: "network-policy",
    clients,
    user: systemAccount("network-policy"),
    create: (own) =>
      createNetworkPolicy(own, {
        nodeName: spec.name,
        families: clusterCidrs.map(familyOf),
        bridge: "cni0",
        dnsAddresses: network.clusterDns,
        host: nowhere,
      }),
  }),
  new Part({
    name: "kube-proxy",
    clients,
    user: { name: "system:kube-proxy" },
    create: (own) => createKubeProxy(own, { nodeName: spec.name, clusterCidrs, mode: "nftables", host: nowhere }),
  }),
  new Part({
    name: "ingress",
    clients,
    user: systemAccount("k3ts-ingress"),
    following: { fieldSelectors: new Map([[Secret as unknown as Resource, "type=kubernetes.io/tls"]]) },
    create: (own) =>
      createIngress(own, {
        nodeIps: spec.ips,
        apiPort: flags["https-listen-port"],
        httpPort: 0,
        httpsPort: 0,
        host: "127.0.0.1",
        gateway: { addresses: spec.ips, reserved: () => undefined },
      }),
  }),
  new Part({
    name: "dns",
    clients,
    user: systemAccount("kube-dns"),
    following: { fieldSelectors: new Map([[ConfigMap as unknown as Resource, "metadata.name=coredns-custom"]]) },
    create: (own) =>
      createDns(own, {
        addresses: ["127.0.0.1"],
        port: 0,
        domain: flags["cluster-domain"],
        upstreams: [],
        holdAddresses: false,
      }),
  }),
].map((component) => ({ component, after }))

await runComponents(
  [...inOrder(cluster), ...loneSimulatedNode(context, place, simulatedNodeConfig(flags, network)), ...parts],
  {
    signal: new AbortController().signal,
    clock: context.clock,
    log: context.log,
    failed: context.failed,
    ready() {
      compileAsUsual()
      turns.serve()
    },
  },
)
