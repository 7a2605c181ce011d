import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PriorityClass } from "../../../pkg/api/scheduling/v1/priorityclass.ts"
import type { FeatureName } from "../../../pkg/component/features.ts"
import { clusterWithGroups, gang, members, placed, verdict } from "./pod-groups.fixtures.ts"

const GATES = ["GangScheduling", "TopologyAwareWorkloadScheduling"] as const
const inRack = { schedulingConstraints: { topology: [{ key: "rack" }] } }
/** A rack with room for two pods, and one for four. */
const racks = [
  { name: "a0", capacity: { cpu: "2" }, labels: { rack: "a" } },
  { name: "b0", capacity: { cpu: "2" }, labels: { rack: "b" } },
  { name: "b1", capacity: { cpu: "2" }, labels: { rack: "b" } },
]
const clusterWith = (plugins: object, nodes: typeof racks, gates: readonly FeatureName[] = GATES) =>
  clusterWithGroups(nodes, gates, {
    schedulerConfig: {
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      profiles: [{ plugins }],
    },
  })
type Cluster = Awaited<ReturnType<typeof clusterWith>>
const racksOf = async (cluster: Cluster) => {
  const { items } = await cluster.client.list(Pod, { namespace: "default" })
  return new Set(items.flatMap(({ spec }) => (spec.nodeName ? [spec.nodeName[0]] : [])))
}

describe("a profile", () => {
  test("without GangScheduling places the pods of a gang one by one", async () => {
    await using cluster = await clusterWith({ multiPoint: { disabled: [{ name: "GangScheduling" }] } }, racks)
    await gang(cluster, "g", 10)
    await members(cluster, "g", 3)
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(3)
  })

  test("without GangScheduling's permit waits for enough pods, and then gives a node to as many as fit", async () => {
    await using cluster = await clusterWith({ permit: { disabled: [{ name: "GangScheduling" }] } }, racks.slice(0, 1))
    await gang(cluster, "g", 3)
    await members(cluster, "g", 2)
    await cluster.settle()
    expect(await placed(cluster, "g")).toEqual([])
    await members(cluster, "g", 1, { first: 2 })
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(2)
  })

  test("with GangScheduling has gangs without the gate", async () => {
    await using cluster = await clusterWith({ multiPoint: { enabled: [{ name: "GangScheduling" }] } }, racks, [])
    await gang(cluster, "g", 7)
    await members(cluster, "g", 7)
    await cluster.settle()
    expect(await placed(cluster, "g")).toEqual([])
    expect(await verdict(cluster, "g")).toBe("False Unschedulable pod group is unschedulable")
  })

  test("without TopologyPlacementGenerator places a group in any racks", async () => {
    const plugins = { placementGenerate: { disabled: [{ name: "TopologyPlacementGenerator" }] } }
    await using cluster = await clusterWith(plugins, racks)
    await gang(cluster, "g", 5, inRack)
    await members(cluster, "g", 5)
    await cluster.settle()
    expect(await placed(cluster, "g")).toHaveLength(5)
    expect(await racksOf(cluster)).toEqual(new Set(["a", "b"]))
  })

  test("prefers the rack for the fewest pods where PodGroupPodsCount has a weight below zero", async () => {
    const plugins = { placementScore: { enabled: [{ name: "PodGroupPodsCount", weight: -1 }] } }
    await using cluster = await clusterWith(plugins, racks)
    // The pods wait for their group, so that all are tried at once.
    await members(cluster, "g", 4)
    await gang(cluster, "g", 1, inRack)
    await cluster.settle()
    expect(await racksOf(cluster)).toEqual(new Set(["a"]))
  })

  test("without DefaultPreemption ends no pods for a gang that preempts as a whole", async () => {
    const plugins = { postFilter: { disabled: [{ name: "DefaultPreemption" }] } }
    await using cluster = await clusterWith(plugins, racks.slice(0, 1), ["GangScheduling", "WorkloadAwarePreemption"])
    await cluster.client.create(PriorityClass, { metadata: { name: "high" }, value: 1000 })
    await gang(cluster, "low", 2)
    await members(cluster, "low", 2)
    await cluster.settle()
    await gang(cluster, "high", 2, { priorityClassName: "high" })
    await members(cluster, "high", 2)
    await cluster.settle()
    await cluster.advance("1m")
    expect([await placed(cluster, "low"), await placed(cluster, "high")].map(({ length }) => length)).toEqual([2, 0])
    expect(await verdict(cluster, "high")).toBe(
      "False Unschedulable pod group is unschedulable, default preemption plugin is not registered, workload aware " +
        "preemption is disabled",
    )
  })
})

describe("with TopologyAwareWorkloadScheduling a group that does not fit", () => {
  test.each([
    [
      "names its one placement where it needs no topology",
      {},
      "0/1 placements are available, first placement status: ",
    ],
    ["says that no node has the label", { schedulingConstraints: { topology: [{ key: "zone" }] } }, "no feasible "],
  ])("%s", async (_what, spec, message) => {
    await using cluster = await clusterWithGroups(racks, GATES)
    await gang(cluster, "g", 7, spec)
    await members(cluster, "g", 7)
    await cluster.settle()
    expect(await verdict(cluster, "g")).toContain(`False Unschedulable ${message}`)
  })
})
