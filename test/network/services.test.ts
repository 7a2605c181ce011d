import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ANSWER_PORT } from "../../components/kube-proxy/packets/lab-agents.fixtures.ts"
import { createKubeProxy } from "../../components/kube-proxy/proxier.ts"
import { PROXY_MODES } from "../../components/kube-proxy/rule-writer.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { FAMILIES } from "../../pkg/apimachinery/addresses/cidr.ts"
import { addressOf, baseOf, CLUSTER_CIDRS, NODES, NodesLab, nodesLabLacks } from "./nodes-lab.fixtures.ts"
import { networkBetween } from "./nodes.fixtures.ts"

const lacks = nodesLabLacks()
if (lacks !== undefined) console.warn(`SKIPPED: Services across nodes need ${lacks}`)

/** A Service for each policy, with its node port. */
const SERVICES = {
  Cluster: { name: "web", nodePort: 30_080, ips: { IPv4: "10.43.7.7", IPv6: "fd43::77" } },
  Local: { name: "web-local", nodePort: 30_081, ips: { IPv4: "10.43.7.8", IPv6: "fd43::78" } },
} as const

async function create(
  { client }: Awaited<ReturnType<typeof networkBetween>>,
  externalTrafficPolicy: "Cluster" | "Local",
): Promise<void> {
  const { name, nodePort, ips } = SERVICES[externalTrafficPolicy]
  const namespace = "default"
  await client.create(Service, {
    metadata: { name, namespace },
    spec: {
      type: "NodePort",
      clusterIP: ips.IPv4,
      clusterIPs: FAMILIES.map((family) => ips[family]),
      ipFamilies: FAMILIES,
      ipFamilyPolicy: "RequireDualStack",
      externalTrafficPolicy,
      ports: [{ port: 80, nodePort, targetPort: ANSWER_PORT, protocol: "TCP" }],
    },
  })
  for (const family of FAMILIES)
    await client.create(EndpointSlice, {
      metadata: {
        name: `${name}-${family.toLowerCase()}`,
        namespace,
        labels: { "kubernetes.io/service-name": name },
      },
      addressType: family,
      endpoints: [{ addresses: [addressOf("two-a", family)], nodeName: "two", conditions: { ready: true } }],
      ports: [{ port: ANSWER_PORT, protocol: "TCP" }],
    })
}

describe.skipIf(lacks !== undefined).each(PROXY_MODES)("a Service whose pod is on another node, by %s", (mode) => {
  let lab: NodesLab
  const running: AsyncDisposable[] = []
  beforeAll(async () => {
    lab = await NodesLab.start()
    const network = await networkBetween(lab, "vxlan", FAMILIES)
    running.push(network)
    for (const policy of ["Cluster", "Local"] as const) await create(network, policy)
    for (const node of NODES) {
      const proxy = createKubeProxy(network.cluster.contextFor("system:kube-proxy", ["system:masters"]), {
        nodeName: node,
        clusterCidrs: FAMILIES.map((family) => CLUSTER_CIDRS[family]),
        mode,
        host: lab.host(node),
      })
      // It has written the rules then.
      await proxy.start(new AbortController().signal)
      running.push({ [Symbol.asyncDispose]: () => proxy.stop() })
    }
    for (const family of FAMILIES) await lab.reach("one-a", addressOf("two-a", family), ANSWER_PORT)
  }, 30_000)
  afterAll(async () => {
    for (const one of running.reverse()) await one[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  test("is reached by pods with their own address, and by the node with an address that pods can respond to", async () => {
    for (const family of FAMILIES) {
      const ip = SERVICES.Cluster.ips[family]
      expect(await lab.ask("one-a", ip, 80)).toBe(`two-a as ${addressOf("one-a", family)}`)
      expect(await lab.ask("one", ip, 80)).toBe(`two-a as ${baseOf("one", family)}`)
    }
  })

  test("refuses connections of pods and of the node to a port that it does not have", async () => {
    for (const family of FAMILIES)
      for (const from of ["one-a", "one"] as const)
        expect([from, await lab.ask(from, SERVICES.Cluster.ips[family], 81)]).toEqual([from, "refused"])
  })

  test("is reached from outside at every node's port under externalTrafficPolicy Cluster", async () => {
    const { nodePort } = SERVICES.Cluster
    for (const family of FAMILIES)
      expect(await lab.ask("outside", addressOf("one", family), nodePort)).toBe(`two-a as ${baseOf("one", family)}`)
  })

  test("is reached from outside only at its own node, with the client's address, under externalTrafficPolicy Local", async () => {
    const { nodePort } = SERVICES.Local
    for (const family of FAMILIES) {
      const client = addressOf("outside", family)
      expect(await lab.ask("outside", addressOf("two", family), nodePort)).toBe(`two-a as ${client}`)
      expect(await lab.ask("outside", addressOf("one", family), nodePort)).toBe("dropped")
      // but from the other node's pods, which are no outside
      expect(await lab.ask("one-a", addressOf("one", family), nodePort)).toStartWith("two-a as ")
    }
  })
})
