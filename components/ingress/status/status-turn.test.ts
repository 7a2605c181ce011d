import { expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { IngressClass } from "../../../pkg/api/networking/v1/ingressclass.ts"
import { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { k3tsIngressClass } from "../../../pkg/api/networking/v1/k3ts-class.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { createIngress } from "../ingress.ts"
import { servingAddresses } from "./status-turn.ts"

const node = (name: string, address: string, ready: "True" | "Unknown", isServer = true) =>
  ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, ...(isServer ? { labels: { "node-role.kubernetes.io/control-plane": "true" } } : {}) },
    status: { addresses: [{ type: "InternalIP", address }], conditions: [{ type: "Ready", status: ready }] },
  }) as unknown as Node

test.each([
  {
    title: "Ready servers, sorted by name",
    nodes: [
      ["b", "192.0.2.2"],
      ["a", "192.0.2.1"],
    ],
    wants: ["192.0.2.1", "192.0.2.2"],
  },
  {
    title: "no servers that are not Ready",
    nodes: [
      ["a", "192.0.2.1"],
      ["b", "192.0.2.2", "Unknown"],
    ],
    wants: ["192.0.2.1"],
  },
  {
    title: "no agents",
    nodes: [
      ["a", "192.0.2.1"],
      ["b", "192.0.2.2", "True", false],
    ],
    wants: ["192.0.2.1"],
  },
  {
    title: "this server, even if its Node does not exist yet",
    nodes: [["b", "192.0.2.2"]],
    wants: ["192.0.2.1", "192.0.2.2"],
  },
] as const)("Ingresses are served at the addresses of $title", ({ nodes, wants }) => {
  const all = nodes.map(([name, address, ready = "True", isServer = true]) => node(name, address, ready, isServer))
  expect(servingAddresses(all, ["192.0.2.1"])).toEqual([...wants])
})

test("of two servers one writes the status of an Ingress with the addresses of both, and the other one continues after it", async () => {
  // given
  await using cluster = await startCluster({ clock: "real", components: { scheduler: false, controllers: false } })
  const { client } = cluster
  await client.create(IngressClass, k3tsIngressClass)
  const addresses = ["192.0.2.1", "192.0.2.2"]
  for (const [i, address] of addresses.entries()) {
    const { apiVersion: _, kind: __, status, ...made } = node(`server-${i}`, address, "True")
    const created = await client.create(Node, made)
    await client.updateStatus(Node, { ...created, status })
  }
  const start = async (i: number) => {
    const fieldSelectors = new Map([[Secret as unknown as Resource, "type=kubernetes.io/tls"]])
    const user = "system:serviceaccount:kube-system:k3ts-ingress"
    const context = cluster.contextFor(user, ["system:serviceaccounts"], { fieldSelectors })
    const ports = { apiPort: 6443, httpPort: 0, httpsPort: 0, host: "0.0.0.0" }
    const ingress = createIngress(context, { ...ports, nodeIps: [addresses[i]!], candidate: `server-${i}` })
    await ingress.start(new AbortController().signal)
    return ingress
  }
  const shown = async (name: string) =>
    (await client.get(Ingress, { namespace: "default", name })).status.loadBalancer.ingress?.map(({ ip }) => ip)
  const create = (name: string) =>
    client.create(Ingress, {
      metadata: { name, namespace: "default" },
      spec: { ingressClassName: "k3ts", defaultBackend: { service: { name: "web", port: { number: 80 } } } },
    })
  const [first, second] = [await start(0), await start(1)]
  // when
  await create("one")
  await cluster.eventually(async () => (await shown("one")) !== undefined)
  // then
  expect(await shown("one")).toEqual(addresses)
  const { resourceVersion } = (await client.get(Ingress, { namespace: "default", name: "one" })).metadata
  // when the one that may have written ends, and then the other one
  await first.stop()
  await create("two")
  await cluster.eventually(async () => (await shown("two")) !== undefined)
  // then
  expect(await shown("two")).toEqual(addresses)
  expect((await client.get(Ingress, { namespace: "default", name: "one" })).metadata.resourceVersion).toBe(
    resourceVersion!,
  )
  await second.stop()
}, 60_000)
