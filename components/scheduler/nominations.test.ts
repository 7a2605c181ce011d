import { describe, expect, test } from "bun:test"
import { PriorityClass } from "../../pkg/api/scheduling/v1/priorityclass.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { Nominations } from "./nominations.ts"

const pod = (name: string, nominatedNodeName?: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", uid: name },
  spec: { containers: [] } as unknown as Pod["spec"],
  status: nominatedNodeName === undefined ? {} : { nominatedNodeName },
})

describe("a nomination", () => {
  test.each<[title: string, before: Pod | undefined, now: Pod, node: string | undefined]>([
    ["is what the status of a new pod says", undefined, pod("p", "b"), "b"],
    ["is what the status says", pod("p"), pod("p", "b"), "b"],
    ["ends when the status names no node any more", pod("p", "a"), pod("p"), undefined],
    ["stays while the status does not name the node yet", pod("p"), pod("p"), "a"],
  ])("%s", (_title, before, now, node) => {
    const nominations = new Nominations()
    nominations.nominate(pod("p"), "a")
    nominations.update(now, before)
    expect(nominations.nodeOf(now)).toBe(node)
    expect((nominations.of({ name: "a" }) ?? []).length).toBe(node === "a" ? 1 : 0)
  })
})

/** A node with room for two pods, and classes of three priorities. Pods of the image `slow` end after a minute. */
async function start(): Promise<Cluster> {
  const cluster = await startCluster({
    nodes: [{ name: "a", capacity: { cpu: 2, pods: 110 } }],
    images: { slow: { onStop: { afterMs: 60_000 } } },
  })
  for (const [name, value] of [
    ["medium", 10],
    ["high", 100],
  ] as const)
    // prettier-ignore
    await cluster.client.create(PriorityClass, { metadata: { name }, value })
  return cluster
}
const create = (cluster: Cluster, name: string, spec: object = {}) =>
  cluster.client.create(Pod, {
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 90,
      containers: [{ name: "main", image: "slow", resources: { requests: { cpu: "900m" } } }],
      ...spec,
    },
  })
const nominatedTo = async (cluster: Cluster, name: string) => (await cluster.get(Pod, name)).status.nominatedNodeName
const onNodes = async (cluster: Cluster) =>
  (await cluster.list(Pod)).filter(({ spec }) => spec.nodeName).map(({ metadata }) => metadata.name)

describe("pods for which preemption makes room", () => {
  test("give way to more urgent ones, and those that still fit get the rest of the node", async () => {
    // given two pods that take long to end, and two that are nominated to their node
    await using cluster = await start()
    for (const name of ["low-0", "low-1"]) await create(cluster, name)
    await cluster.advance("5s")
    for (const name of ["medium-0", "medium-1"]) await create(cluster, name, { priorityClassName: "medium" })
    await cluster.advance("5s")
    expect(await nominatedTo(cluster, "medium-0")).toBe("a")
    expect(await nominatedTo(cluster, "medium-1")).toBe("a")
    // when an urgent one comes before the node is free
    await create(cluster, "high", { priorityClassName: "high" })
    await cluster.advance("2m")
    // then one of the two that were nominated before has the place that is left, and the other is nominated no longer
    const placed = await onNodes(cluster)
    expect(placed).toContain("high")
    expect(placed).toHaveLength(2)
    const waiting = (await cluster.list(Pod)).filter(({ spec }) => !spec.nodeName)
    expect(waiting.map(({ status }) => status.nominatedNodeName)).toEqual([undefined])
  })

  test("are nominated no longer when a more urgent one has further pods end on their node", async () => {
    // given a pod that is nominated to the place of another
    await using cluster = await start()
    for (const name of ["low-0", "low-1"]) await create(cluster, name)
    await cluster.advance("5s")
    await create(cluster, "medium", { priorityClassName: "medium" })
    await cluster.advance("5s")
    expect(await nominatedTo(cluster, "medium")).toBe("a")
    // when one comes that needs the whole node
    const containers = [{ name: "main", image: "slow", resources: { requests: { cpu: "1800m" } } }]
    await create(cluster, "high", { priorityClassName: "high", containers })
    await cluster.advance("10s")
    // then
    expect(await nominatedTo(cluster, "high")).toBe("a")
    expect(await nominatedTo(cluster, "medium")).toBeUndefined()
  })

  test("let others have the node when they are deleted before they get it", async () => {
    // given two equal pods of which preemption makes room for one only
    await using cluster = await start()
    for (const name of ["low-0", "low-1"]) await create(cluster, name)
    await cluster.advance("5s")
    const containers = [{ name: "main", image: "slow", resources: { requests: { cpu: "1800m" } } }]
    for (const name of ["one", "two"]) await create(cluster, name, { priorityClassName: "medium", containers })
    await cluster.advance("5s")
    expect(await nominatedTo(cluster, "one")).toBe("a")
    await cluster.advance("2s")
    // when
    await cluster.client.delete(Pod, { namespace: "default", name: "one" })
    await cluster.advance("15s")
    // then the other one is tried again at once, while the node is not free yet
    expect(await onNodes(cluster)).toEqual(["low-0", "low-1"])
    expect(await nominatedTo(cluster, "two")).toBe("a")
  })
})
