import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { PriorityClass } from "../../../pkg/api/scheduling/v1/priorityclass.ts"
import { clusterWithGroups, gang, members, placed, reason, verdict } from "./pod-groups.fixtures.ts"

const small = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `n${i}`, capacity: { cpu: "2" } }))

describe("a gang", () => {
  test("gets its nodes when as many pods as it needs are there, and not before", async () => {
    // given
    await using cluster = await clusterWithGroups(small(2))
    await gang(cluster, "g", 3)
    // when two of three pods are there
    await members(cluster, "g", 2)
    await cluster.settle()
    // then
    expect(await placed(cluster, "g")).toEqual([])
    expect(await verdict(cluster, "g")).toBe("none")
    // when the third comes
    await members(cluster, "g", 1, { first: 2 })
    await cluster.settle()
    // then
    expect(await placed(cluster, "g")).toEqual(["g-0", "g-1", "g-2"])
    expect(await verdict(cluster, "g")).toBe("True Scheduled")
    // and a pod that comes later is scheduled alone
    await members(cluster, "g", 1, { first: 3 })
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(4)
  })

  test("waits for its PodGroup, and starts when that is created", async () => {
    await using cluster = await clusterWithGroups(small(1))
    await members(cluster, "late", 2)
    await cluster.settle()
    expect(await placed(cluster, "late")).toEqual([])
    await gang(cluster, "late", 2)
    await cluster.settle()
    expect(await placed(cluster, "late")).toHaveLength(2)
  })

  test("that does not fit wholly gets no node at all, and leaves the room to others", async () => {
    // given room for four pods
    await using cluster = await clusterWithGroups(small(2))
    await gang(cluster, "big", 5)
    // when
    await members(cluster, "big", 5)
    await cluster.settle()
    // then
    expect(await placed(cluster, "big")).toEqual([])
    expect(await verdict(cluster, "big")).toBe("False Unschedulable pod group is unschedulable")
    expect(await reason(cluster, "big-0")).toBe(
      "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled",
    )
    expect(await reason(cluster, "big-4")).toContain("0/2 nodes are available: 2 Insufficient cpu.")
    // when another gang comes that fits
    await gang(cluster, "fits", 4)
    await members(cluster, "fits", 4)
    await cluster.settle()
    // then
    expect(await placed(cluster, "fits")).toHaveLength(4)
    expect(await placed(cluster, "big")).toEqual([])
  })

  test("starts when room comes", async () => {
    await using cluster = await clusterWithGroups(small(1))
    await gang(cluster, "g", 4)
    await members(cluster, "g", 4)
    await cluster.settle()
    expect(await placed(cluster, "g")).toEqual([])
    await cluster.addNode({ name: "more", capacity: { cpu: "2" } })
    await cluster.settle()
    await cluster.advance("15s")
    expect(await placed(cluster, "g")).toHaveLength(4)
    expect(await verdict(cluster, "g")).toBe("True Scheduled")
  })

  test("places as many pods as fit where that is enough, and the others when there is room", async () => {
    await using cluster = await clusterWithGroups(small(1))
    await gang(cluster, "g", 2)
    await members(cluster, "g", 3)
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(2)
    expect(await verdict(cluster, "g")).toBe("True Scheduled")
    await cluster.addNode({ name: "more", capacity: { cpu: "2" } })
    await cluster.settle()
    await cluster.advance("15s")
    expect(await placed(cluster, "g")).toHaveLength(3)
  })

  test("of which a pod is deleted in the middle waits until another takes its place", async () => {
    await using cluster = await clusterWithGroups(small(1))
    await gang(cluster, "g", 4)
    await members(cluster, "g", 4)
    await cluster.settle()
    await cluster.client.delete(Pod, { namespace: "default", name: "g-1" })
    await cluster.addNode({ name: "more", capacity: { cpu: "2" } })
    await cluster.settle()
    await cluster.advance("1m")
    expect(await placed(cluster, "g")).toEqual([])
    await members(cluster, "g", 1, { first: 4 })
    await cluster.settle()
    await cluster.advance("15s")
    expect(await placed(cluster, "g")).toHaveLength(4)
  })

  test("never holds a part of the room against another: one of two starts, then the other", async () => {
    // given room for four, and two gangs of three, whose pods come in turn
    await using cluster = await clusterWithGroups(small(2))
    await gang(cluster, "a", 3)
    await gang(cluster, "b", 3)
    for (let i = 0; i < 3; i++) {
      await members(cluster, "a", 1, { first: i })
      await members(cluster, "b", 1, { first: i })
    }
    await cluster.settle()
    // then one has all its nodes, and the other has none
    const sizes = [await placed(cluster, "a"), await placed(cluster, "b")].map(({ length }) => length)
    expect(sizes.toSorted((a, b) => a - b)).toEqual([0, 3])
    // when the first ends
    const [first, second] = sizes[0] === 3 ? ["a", "b"] : ["b", "a"]
    for (let i = 0; i < 3; i++) await cluster.client.delete(Pod, { namespace: "default", name: `${first}-${i}` })
    await cluster.settle()
    await cluster.advance("15s")
    // then
    expect(await placed(cluster, second)).toHaveLength(3)
  })

  test("of pods of different schedulers is refused", async () => {
    const schedulerConfig = {
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      profiles: [{ schedulerName: "default-scheduler" }, { schedulerName: "other" }],
    }
    await using cluster = await clusterWithGroups(small(1), ["GangScheduling"], { schedulerConfig })
    await gang(cluster, "g", 2)
    await members(cluster, "g", 1)
    await members(cluster, "g", 1, { first: 1, spec: { schedulerName: "other" } })
    await cluster.settle()
    expect(await placed(cluster, "g")).toEqual([])
    expect(await verdict(cluster, "g")).toContain("should have the same .spec.schedulerName set")
  })

  test("with the largest minCount waits, and other pods go on", async () => {
    await using cluster = await clusterWithGroups(small(1))
    await gang(cluster, "g", 2 ** 31 - 1)
    await members(cluster, "g", 2)
    await members(cluster, "other", 1)
    await cluster.client.create(Pod, {
      metadata: { namespace: "default", name: "free" },
      spec: { containers: [{ name: "c", image: "x" }] },
    })
    await cluster.settle()
    expect(await placed(cluster, "g")).toEqual([])
    const free = await cluster.client.get(Pod, { namespace: "default", name: "free" })
    expect(free.spec.nodeName).toBe("n0")
  })
})

describe("pods of a group without a gang", () => {
  test("get the nodes that there are", async () => {
    await using cluster = await clusterWithGroups(small(1))
    await cluster.client.create(PodGroup, {
      metadata: { namespace: "default", name: "g" },
      spec: { schedulingPolicy: { basic: {} } },
    })
    await members(cluster, "g", 3)
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(2)
    expect(await verdict(cluster, "g")).toBe("True Scheduled")
  })

  test("need no group where GangScheduling is off", async () => {
    await using cluster = await clusterWithGroups(small(1), [])
    await members(cluster, "g", 2)
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(2)
  })

  test("are pods like others where PodGroups are not served", async () => {
    await using cluster = await clusterWithGroups(small(1), ["GangScheduling"], { runtimeConfig: [] })
    await members(cluster, "g", 2)
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(2)
  })
})

describe("preemption for a gang", () => {
  const classes = async (cluster: Awaited<ReturnType<typeof clusterWithGroups>>) => {
    for (const [name, value] of [
      ["low", 1],
      ["high", 1000],
    ] as const)
      await cluster.client.create(PriorityClass, { metadata: { name }, value })
  }
  const names = async (cluster: Awaited<ReturnType<typeof clusterWithGroups>>) =>
    (await cluster.client.list(Pod, { namespace: "default" })).items.map(({ metadata }) => metadata.name!).toSorted()

  test("deletes pods of lower priority where all of the gang fits after that", async () => {
    await using cluster = await clusterWithGroups(small(2))
    await classes(cluster)
    await gang(cluster, "low", 4)
    await members(cluster, "low", 4, { spec: { priorityClassName: "low" } })
    await cluster.settle()
    expect(await placed(cluster, "low")).toHaveLength(4)
    await gang(cluster, "high", 3)
    await members(cluster, "high", 3, { spec: { priorityClassName: "high" } })
    await cluster.settle()
    await cluster.advance("30s")
    expect(await placed(cluster, "high")).toHaveLength(3)
    expect((await names(cluster)).map((name) => name.slice(0, 4))).toEqual(["high", "high", "high", "low-"])
  })

  test("deletes nobody where the gang would not fit after that", async () => {
    await using cluster = await clusterWithGroups(small(2))
    await classes(cluster)
    await gang(cluster, "low", 4)
    await members(cluster, "low", 4, { spec: { priorityClassName: "low" } })
    await cluster.settle()
    await gang(cluster, "high", 5)
    await members(cluster, "high", 5, { spec: { priorityClassName: "high" } })
    await cluster.settle()
    await cluster.advance("1m")
    expect(await placed(cluster, "low")).toHaveLength(4)
    expect(await placed(cluster, "high")).toEqual([])
  })

  test("goes by the priority of groups, and takes those whole that say so, with WorkloadAwarePreemption", async () => {
    // given a group that is taken whole, and a pod alone, of one priority
    await using cluster = await clusterWithGroups(small(2), ["GangScheduling", "WorkloadAwarePreemption"])
    await classes(cluster)
    await gang(cluster, "whole", 2, { priorityClassName: "low", disruptionMode: "PodGroup" })
    await members(cluster, "whole", 2, { spec: { priorityClassName: "high" } })
    await cluster.settle()
    for (const name of ["one", "two"])
      await cluster.client.create(Pod, {
        metadata: { namespace: "default", name },
        spec: {
          priorityClassName: "low",
          containers: [{ name: "c", image: "x", resources: { requests: { cpu: "1" } } }],
          terminationGracePeriodSeconds: 0,
        },
      })
    await cluster.settle()
    // when a gang comes that needs the room of one of them
    await gang(cluster, "high", 1, { priorityClassName: "high" })
    await members(cluster, "high", 1, { spec: { priorityClassName: "high" } })
    await cluster.settle()
    await cluster.advance("30s")
    // then a pod makes room, since groups are more important
    expect(await placed(cluster, "high")).toHaveLength(1)
    expect(await placed(cluster, "whole")).toHaveLength(2)
    // when one comes that needs the room of three
    await gang(cluster, "more", 3, { priorityClassName: "high" })
    await members(cluster, "more", 3)
    await cluster.settle()
    await cluster.advance("30s")
    // then all of the group makes room
    expect(await placed(cluster, "more")).toHaveLength(3)
    expect(await names(cluster)).toEqual(["high-0", "more-0", "more-1", "more-2"])
  })
})

describe("a group in a topology", () => {
  const racks = [
    { name: "a0", capacity: { cpu: "2" }, labels: { rack: "a" } },
    { name: "b0", capacity: { cpu: "2" }, labels: { rack: "b" } },
    { name: "b1", capacity: { cpu: "2" }, labels: { rack: "b" } },
  ]
  const inRack = { schedulingConstraints: { topology: [{ key: "rack" }] } }
  const GATES = ["GangScheduling", "TopologyAwareWorkloadScheduling"] as const

  test("gets all its nodes in one domain, where most of its pods fit", async () => {
    await using cluster = await clusterWithGroups(racks, GATES)
    await gang(cluster, "g", 3, inRack)
    await members(cluster, "g", 3)
    await cluster.settle()
    const { items } = await cluster.client.list(Pod, { namespace: "default" })
    expect(new Set(items.map(({ spec }) => spec.nodeName![0]))).toEqual(new Set(["b"]))
  })

  test("waits where no domain has room for all", async () => {
    await using cluster = await clusterWithGroups(racks, GATES)
    await gang(cluster, "g", 5, inRack)
    await members(cluster, "g", 5)
    await cluster.settle()
    expect(await placed(cluster, "g")).toEqual([])
    expect(await verdict(cluster, "g")).toBe(
      "False Unschedulable 0/2 placements are available, first placement status: pod group is unschedulable",
    )
    await cluster.addNode({ name: "b2", capacity: { cpu: "2" }, labels: { rack: "b" } })
    await cluster.settle()
    await cluster.advance("15s")
    expect(await placed(cluster, "g")).toHaveLength(5)
  })

  test("stays in the domain where it is", async () => {
    await using cluster = await clusterWithGroups(racks.slice(0, 1), GATES)
    await gang(cluster, "g", 2, inRack)
    await members(cluster, "g", 2)
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(2)
    await cluster.addNode(racks[1]!)
    await members(cluster, "g", 1, { first: 2 })
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(2)
  })
})
