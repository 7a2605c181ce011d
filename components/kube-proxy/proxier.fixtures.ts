import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { createKubeProxy, type KubeProxyConfig } from "./proxier.ts"
import type { ProxyMode } from "./rule-writer.ts"

/** A cluster without controllers, and a Service `web` at 10.43.7.7 whose one endpoint the test moves about. */
export async function withService(
  protocol: "TCP" | "UDP" = "TCP",
  {
    tracing = false,
    changed = (context) => context,
  }: { readonly tracing?: boolean; readonly changed?: (context: ComponentContext) => ComponentContext } = {},
) {
  const cluster = await startCluster({ tracing, components: { scheduler: false, controllers: false } })
  const context = changed(cluster.contextFor("system:kube-proxy", ["system:masters"]))
  const { client } = cluster
  await client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { clusterIP: "10.43.7.7", ports: [{ port: 80, protocol }] },
  })
  let slice = await client.create(EndpointSlice, {
    metadata: { name: "web-1", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.42.0.5"] }],
    ports: [{ port: 8080, protocol }],
  })
  const registry = new Registry()
  const proxies: Component[] = []
  return {
    cluster,
    figures: () => registry.text(),
    proxy(host: Host, mode: ProxyMode = "iptables", more: Pick<KubeProxyConfig, "serving"> = {}) {
      const proxy = createKubeProxy(context, {
        nodeName: "node-0",
        clusterCidrs: ["10.42.0.0/16"],
        mode,
        host,
        metrics: registry,
        ...more,
      })
      proxies.push(proxy)
      return proxy
    },
    /** Resolves when the proxy's informer has the new address. */
    async point(address: string, annotations: Record<string, string> = {}) {
      const seen = Promise.withResolvers<void>()
      const off = context.informers.of(EndpointSlice).on({ updated: () => seen.resolve() })
      slice = await client.update(EndpointSlice, {
        ...slice,
        metadata: { ...slice.metadata, annotations },
        endpoints: [{ addresses: [address] }],
      })
      await seen.promise
      off()
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await cluster.stop()
    },
  }
}
