import { describe, expect, test } from "bun:test"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster, type Cluster } from "../../cluster/testing/testing.ts"

const ZONE = "topology.kubernetes.io/zone"
const MODE = "service.kubernetes.io/topology-mode"
const HINTS = "service.kubernetes.io/topology-aware-hints"
const AUTO = { [MODE]: "Auto" }

interface Place {
  /** Of each node: its zone, "" for none, its CPUs, and labels that it may not give itself. */
  readonly nodes: readonly (readonly [zone: string, cpu: number, labels?: Readonly<Record<string, string>>])[]
  /** The index of the node of each pod. */
  readonly pods: readonly number[]
}

async function start({ nodes, pods }: Place, annotations: Readonly<Record<string, string>>, spec: object = {}) {
  const cluster = await startCluster({
    nodes: nodes.map(([zone, cpu]) => ({ capacity: { cpu }, labels: zone === "" ? {} : { [ZONE]: zone } })),
  })
  for (const [i, [, , labels = {}]] of nodes.entries())
    await cluster.client.patch(Node, { name: `node-${i}` }, { type: "merge", body: { metadata: { labels } } })
  for (const [i, node] of pods.entries()) await addPod(cluster, `p${String(i).padStart(2, "0")}`, node)
  await cluster.eventually(Pod, { phase: "Running" }, (running) => running.length === pods.length)
  await cluster.client.create(Service, {
    metadata: { name: "web", namespace: "default", annotations },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }], ...spec },
  })
  await cluster.settle()
  return cluster
}
const addPod = (cluster: Cluster, name: string, node: number) =>
  cluster.client.create(Pod, {
    metadata: { name, namespace: "default", labels: { app: "web" } },
    spec: { nodeName: `node-${node}`, containers: [{ name: "c", image: "web" }] },
  })
const endpointsOf = async ({ client }: Cluster) =>
  (
    await client.list(EndpointSlice, { namespace: "default", labelSelector: "kubernetes.io/service-name=web" })
  ).items.flatMap(({ endpoints }) => endpoints ?? [])
/** The number of endpoints with a hint for each zone, "" for no hint. */
async function hinted(cluster: Cluster): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { hints } of await endpointsOf(cluster)) {
    const zone = (hints?.forZones ?? []).map(({ name }) => name).join()
    counts[zone] = (counts[zone] ?? 0) + 1
  }
  return counts
}
const eventsOf = async ({ client }: Cluster) =>
  (await client.list(Event, { namespace: "default" })).items
    .filter(({ involvedObject }) => involvedObject.kind === "Service")
    .map(({ type, reason, message, source }) => `${type} ${reason} ${source?.component}: ${message}`)
const annotate = async (cluster: Cluster, annotations: Readonly<Record<string, string | null>>) => {
  await cluster.client.patch(
    Service,
    { name: "web", namespace: "default" },
    { type: "merge", body: { metadata: { annotations } } },
  )
  await cluster.settle()
}

const enabled =
  "Normal TopologyAwareHintsEnabled endpoint-slice-controller: Topology Aware Hints has been enabled, addressType: IPv4"
const disabled = (why: string) =>
  `Warning TopologyAwareHintsDisabled endpoint-slice-controller: ${why}, addressType: IPv4`
const NO_INFORMATION = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
const CONTROL_PLANE = { "node-role.kubernetes.io/control-plane": "" }

describe("endpoints of a Service with topology mode Auto", () => {
  test.each<{ title: string; place: Place; wants: Record<string, number>; event: string }>([
    {
      title: "have a hint for their own zone where each zone has its share",
      place: {
        nodes: [
          ["a", 9],
          ["b", 11],
        ],
        pods: [0, 1],
      },
      wants: { a: 1, b: 1 },
      event: enabled,
    },
    {
      title: "are meant for other zones where these have too few",
      place: {
        nodes: [
          ["a", 7],
          ["b", 7],
          ["c", 6],
        ],
        pods: [0, 0, 0, 0, 0, 1, 1, 2, 2, 2],
      },
      wants: { a: 4, b: 3, c: 3 },
      event: enabled,
    },
    {
      title: "are meant for the zones of all nodes though they are in one",
      place: {
        nodes: [
          ["a", 5],
          ["b", 5],
          ["c", 6],
        ],
        pods: Array.from({ length: 16 }, () => 0),
      },
      wants: { a: 5, b: 5, c: 6 },
      event: enabled,
    },
    {
      title: "stay in their zone where half of one would be too many",
      place: {
        nodes: [
          ["a", 10],
          ["b", 8],
        ],
        pods: [0, 0, 0, 1, 1, 1],
      },
      wants: { a: 3, b: 3 },
      event: enabled,
    },
    {
      title: "have none where they are fewer than zones",
      place: {
        nodes: [
          ["a", 3],
          ["b", 4],
          ["c", 3],
        ],
        pods: [0, 1],
      },
      wants: { "": 2 },
      event: disabled("Insufficient number of endpoints (2 endpoints, 3 zones)"),
    },
    {
      title: "have none where one of them would get a fifth more than its share",
      place: {
        nodes: [
          ["a", 8],
          ["b", 2],
        ],
        pods: [0, 1],
      },
      wants: { "": 2 },
      event: disabled(
        "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold " +
          "(2 endpoints, 2 zones)",
      ),
    },
    {
      title: "have none in a cluster of one zone",
      place: {
        nodes: [
          ["a", 4],
          ["a", 4],
        ],
        pods: [0, 1],
      },
      wants: { "": 2 },
      event: disabled(NO_INFORMATION),
    },
    {
      title: "have none where a node has no zone",
      place: {
        nodes: [
          ["a", 4],
          ["b", 4],
          ["", 4],
        ],
        pods: [0, 1],
      },
      wants: { "": 2 },
      event: disabled(NO_INFORMATION),
    },
    {
      title: "are not meant for nodes of the control plane",
      place: {
        nodes: [
          ["a", 4],
          ["b", 4],
          ["", 32, CONTROL_PLANE],
        ],
        pods: [0, 1],
      },
      wants: { a: 1, b: 1 },
      event: enabled,
    },
    {
      title: "have none where only nodes of the control plane are in a second zone",
      place: {
        nodes: [
          ["a", 4],
          ["b", 4, CONTROL_PLANE],
        ],
        pods: [0, 1],
      },
      wants: { "": 2 },
      event: disabled(NO_INFORMATION),
    },
    {
      title: "have none where one of them is on a node without a zone",
      place: {
        nodes: [
          ["a", 4],
          ["b", 4],
          ["", 4, CONTROL_PLANE],
        ],
        pods: [0, 0, 0, 1, 1, 2],
      },
      wants: { "": 6 },
      event: disabled("One or more endpoints do not have a zone specified"),
    },
  ])("$title", async ({ place, wants, event }) => {
    // when
    await using cluster = await start(place, AUTO)
    // then
    expect(await hinted(cluster)).toEqual(wants)
    await cluster.advance("1s")
    expect(await eventsOf(cluster)).toContain(event)
  })

  const TWO: Place = {
    nodes: [
      ["a", 4],
      ["b", 4],
    ],
    pods: [0, 0, 1, 1],
  }

  test("lose their hints when the nodes of a zone are not ready, and get them again", async () => {
    // given
    await using cluster = await start(TWO, AUTO)
    expect(await hinted(cluster)).toEqual({ a: 2, b: 2 })
    // when
    const fault = await cluster.faults.nodeLost("node-1")
    await cluster.advance("1m")
    // then
    expect(await hinted(cluster)).toEqual({ "": 4 })
    expect(await eventsOf(cluster)).toContain(disabled(NO_INFORMATION))
    // and
    await fault.end()
    await cluster.eventually(async () => (await hinted(cluster))["a"] === 2, { within: "2m" })
    expect(await hinted(cluster)).toEqual({ a: 2, b: 2 })
  })

  test("are divided anew when a node makes a zone larger", async () => {
    // given
    await using cluster = await start(TWO, AUTO)
    // when
    await cluster.client.create(Node, { metadata: { name: "large", labels: { [ZONE]: "b" } } })
    await cluster.client.patch(
      Node,
      { name: "large" },
      {
        type: "merge",
        body: {
          status: {
            capacity: { cpu: "8" },
            allocatable: { cpu: "8" },
            conditions: [{ type: "Ready", status: "True" }],
          },
        },
      },
      { subresource: "status" },
    )
    await cluster.settle()
    // then
    expect(await hinted(cluster)).toEqual({ a: 1, b: 3 })
  })

  test("keep their hints while each zone has enough", async () => {
    // given
    await using cluster = await start({ ...TWO, pods: [0, 0, 0, 0, 0, 1, 1, 1, 1, 1] }, AUTO)
    const before = await endpointsOf(cluster)
    // when another endpoint comes
    await addPod(cluster, "p99", 0)
    await cluster.eventually(Pod, { phase: "Running" }, (running) => running.length === 11)
    // then
    expect((await endpointsOf(cluster)).slice(0, 10)).toEqual(before)
    expect(await hinted(cluster)).toEqual({ a: 6, b: 5 })
  })

  test("lose their hints with the annotation, whose older name works too", async () => {
    // given
    await using cluster = await start(TWO, AUTO)
    // when
    await annotate(cluster, { [HINTS]: "Disabled", [MODE]: null })
    // then
    expect(await hinted(cluster)).toEqual({ "": 4 })
    await cluster.advance("1s")
    expect(await eventsOf(cluster)).toContain(disabled("Topology Aware Hints has been disabled"))
    // and
    await annotate(cluster, { [HINTS]: "auto" })
    expect(await hinted(cluster)).toEqual({ a: 2, b: 2 })
  })

  test("get them, and the Service its Event, also if a Service of that name was there before", async () => {
    // given
    await using cluster = await start(TWO, AUTO)
    const { metadata, spec } = await cluster.get(Service, "web")
    await cluster.client.delete(Service, "web")
    await cluster.settle()
    // when
    const { name, namespace, annotations } = metadata
    await cluster.client.create(Service, { metadata: { name, namespace, annotations }, spec })
    await cluster.advance("1s")
    // then
    expect(await hinted(cluster)).toEqual({ a: 2, b: 2 })
    expect((await eventsOf(cluster)).filter((event) => event === enabled)).toHaveLength(2)
  })

  test("get them by the annotation, and by trafficDistribution only without it", async () => {
    // given all endpoints in one of two zones
    await using cluster = await start({ ...TWO, pods: [0, 0, 0, 0] }, AUTO, { trafficDistribution: "PreferSameNode" })
    const nodeHints = async () => (await endpointsOf(cluster)).flatMap(({ hints }) => hints?.forNodes ?? [])
    expect([await hinted(cluster), await nodeHints()]).toEqual([{ a: 2, b: 2 }, []])
    // when
    await annotate(cluster, { [MODE]: null })
    // then
    expect(await hinted(cluster)).toEqual({ a: 4 })
    expect(await nodeHints()).toHaveLength(4)
  })
})
