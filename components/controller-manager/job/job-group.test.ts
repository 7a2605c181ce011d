import { describe, expect, test } from "bun:test"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { Workload } from "../../../pkg/api/scheduling/v1alpha2/workload.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"
import { shortened } from "./job-group.ts"

const start = (cpu: string): Promise<Cluster> =>
  startCluster({
    nodes: [{ name: "n", capacity: { cpu } }],
    features: { GenericWorkload: true, GangScheduling: true, WorkloadWithJob: true },
    runtimeConfig: ["scheduling.k8s.io/v1alpha2=true"],
  })
const jobOf = (cluster: Cluster, spec: object = {}, pod: object = {}): Promise<Job> =>
  cluster.client.create(Job, {
    metadata: { namespace: "default", name: "j" },
    spec: {
      parallelism: 3,
      completions: 3,
      completionMode: "Indexed",
      ...spec,
      template: {
        spec: {
          restartPolicy: "Never",
          containers: [{ name: "c", image: "x", resources: { requests: { cpu: "1" } } }],
          ...pod,
        },
      },
    },
  })
const podsOf = async (cluster: Cluster) => (await cluster.client.list(Pod, { namespace: "default" })).items
const groupsOf = async (cluster: Cluster) => (await cluster.client.list(PodGroup)).items

describe("a Job whose pods run all at once", () => {
  test("gets a Workload and a PodGroup, with which its pods start together", async () => {
    // given room for two of three pods
    await using cluster = await start("2")
    const job = await jobOf(cluster)
    await cluster.settle()
    // then
    const [workload] = (await cluster.client.list(Workload)).items
    expect(workload!.metadata.ownerReferences).toMatchObject([{ kind: "Job", uid: job.metadata.uid, controller: true }])
    expect(workload!.spec).toMatchObject({
      controllerRef: { apiGroup: "batch", kind: "Job", name: "j" },
      podGroupTemplates: [{ name: "j-pgt-0", schedulingPolicy: { gang: { minCount: 3 } } }],
    })
    const [group] = await groupsOf(cluster)
    expect(group!.metadata.ownerReferences).toMatchObject([
      { kind: "Job", controller: true },
      { kind: "Workload", name: workload!.metadata.name },
    ])
    const pods = await podsOf(cluster)
    expect(pods.map(({ spec }) => spec.schedulingGroup?.podGroupName)).toEqual(Array(3).fill(group!.metadata.name))
    expect(pods.some(({ spec }) => spec.nodeName)).toBe(false)
    // when there is room
    await cluster.addNode({ name: "more", capacity: { cpu: "1" } })
    await cluster.advance("15s")
    // then
    expect((await podsOf(cluster)).every(({ spec }) => spec.nodeName)).toBe(true)
    // and the size of a gang is fixed
    const wider = { type: "merge", body: { spec: { parallelism: 2 } } } as const
    await expect(cluster.client.patch(Job, job.metadata, wider)).rejects.toThrow("cannot change parallelism")
    // when the Job is deleted
    await cluster.client.delete(Job, job.metadata, { propagationPolicy: "Background" })
    await cluster.advance("1m")
    // then nothing is left of it
    expect([await groupsOf(cluster), (await cluster.client.list(Workload)).items, await podsOf(cluster)]).toEqual([
      [],
      [],
      [],
    ])
  })

  test("gets no second group when its controller is asked again", async () => {
    await using cluster = await start("8")
    const job = await jobOf(cluster)
    await cluster.settle()
    await cluster.client.patch(Job, job.metadata, { type: "merge", body: { spec: { backoffLimit: 2 } } })
    await cluster.settle()
    expect(await groupsOf(cluster)).toHaveLength(1)
  })
})

test.each<[string, object, object]>([
  ["pods without indexes", { completionMode: "NonIndexed" }, {}],
  ["one pod at a time", { parallelism: 1, completions: 1 }, {}],
  ["pods one after another", { completions: 5 }, {}],
  ["a group of its own choice", {}, { schedulingGroup: { podGroupName: "own" } }],
])("a Job with %s gets no group", async (_what, spec, pod) => {
  await using cluster = await start("8")
  await jobOf(cluster, spec, pod)
  await cluster.settle()
  expect(await groupsOf(cluster)).toEqual([])
  expect(await podsOf(cluster)).not.toEqual([])
})

test("names of groups are no longer than names may be", () => {
  expect(shortened(["a"], "hash")).toBe("a-hash")
  expect(shortened(["a", "b"], "hash")).toBe("a-b-hash")
  for (const parts of [
    ["x".repeat(300)],
    ["x".repeat(300), "y"],
    ["x", "y".repeat(300)],
    ["x".repeat(300), "y".repeat(300)],
  ])
    expect(shortened(parts, "0123456789")).toHaveLength(253)
})
