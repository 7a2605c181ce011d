import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ANSWER_PORT } from "../../components/kube-proxy/lab-agents.fixtures.ts"
import { createKubeProxy } from "../../components/kube-proxy/proxier.ts"
import { PROXY_MODES } from "../../components/kube-proxy/rule-writer.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { FAMILIES, type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { addressOf, baseOf, CLUSTER_CIDRS, NODES, NodesLab, nodesLabLacks } from "./nodes-lab.fixtures.ts"
import { networkBetween } from "./nodes.fixtures.ts"

const lacks = nodesLabLacks()
if (lacks !== undefined) console.warn(`SKIPPED: Services across nodes need ${lacks}`)

const CLUSTER_IP: Readonly<Record<Family, string>> = { IPv4: "10.43.7.7", IPv6: "fd43::77" }
const NODE_PORT = 30_080

describe.skipIf(lacks !== undefined).each(PROXY_MODES)("a Service whose pod is on another node, by %s", (mode) => {
  let lab: NodesLab
  const running: AsyncDisposable[] = []
  /** Replaces the Service. */
  let serve: (externalTrafficPolicy: "Cluster" | "Local") => Promise<void>
  beforeAll(async () => {
    lab = await NodesLab.start()
    const network = await networkBetween(lab, "vxlan", FAMILIES)
    running.push(network)
    const { cluster, client } = network
    for (const node of NODES) {
      const proxy = createKubeProxy(cluster.contextFor("system:kube-proxy", ["system:masters"]), {
        nodeName: node,
        clusterCidrs: FAMILIES.map((family) => CLUSTER_CIDRS[family]),
        mode,
        host: lab.host(node),
      })
      await proxy.start(new AbortController().signal)
      running.push({ [Symbol.asyncDispose]: () => proxy.stop() })
    }
    const metadata = { name: "web", namespace: "default" }
    for (const family of FAMILIES)
      await client.create(EndpointSlice, {
        metadata: { ...metadata, name: family.toLowerCase(), labels: { "kubernetes.io/service-name": "web" } },
        addressType: family,
        endpoints: [{ addresses: [addressOf("two-a", family)], nodeName: "two", conditions: { ready: true } }],
        ports: [{ port: ANSWER_PORT, protocol: "TCP" }],
      })
    serve = async (externalTrafficPolicy) => {
      await client.delete(Service, metadata).catch(() => undefined)
      await client.create(Service, {
        metadata,
        spec: {
          type: "NodePort",
          clusterIP: CLUSTER_IP.IPv4,
          clusterIPs: FAMILIES.map((family) => CLUSTER_IP[family]),
          ipFamilies: FAMILIES,
          ipFamilyPolicy: "RequireDualStack",
          externalTrafficPolicy,
          ports: [{ port: 80, nodePort: NODE_PORT, targetPort: ANSWER_PORT, protocol: "TCP" }],
        },
      })
      for (const family of FAMILIES) {
        await lab.reach("one-a", CLUSTER_IP[family], 80)
        await lab.reach("outside", addressOf("two", family), NODE_PORT)
      }
    }
  }, 30_000)
  afterAll(async () => {
    for (const one of running.reverse()) await one[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  test("is reached by pods with their own address, and by the node with one that leads back", async () => {
    await serve("Cluster")
    for (const family of FAMILIES) {
      expect(await lab.ask("one-a", CLUSTER_IP[family], 80)).toBe(`two-a as ${addressOf("one-a", family)}`)
      expect(await lab.ask("one", CLUSTER_IP[family], 80)).toBe(`two-a as ${baseOf("one", family)}`)
    }
  })

  test("is reached from outside at every node's port where traffic may go to any node", async () => {
    await serve("Cluster")
    for (const family of FAMILIES)
      expect(await lab.ask("outside", addressOf("one", family), NODE_PORT)).toBe(`two-a as ${baseOf("one", family)}`)
  })

  test("is reached from outside at its own node only, with the client's address, where traffic must stay", async () => {
    await serve("Local")
    for (const family of FAMILIES) {
      expect(await lab.ask("outside", addressOf("two", family), NODE_PORT)).toBe(
        `two-a as ${addressOf("outside", family)}`,
      )
      expect(await lab.ask("outside", addressOf("one", family), NODE_PORT)).toBe("dropped")
      // but from the other node's pods, which are no outside
      expect(await lab.ask("one-a", addressOf("one", family), NODE_PORT)).toStartWith("two-a as ")
    }
  })
})
