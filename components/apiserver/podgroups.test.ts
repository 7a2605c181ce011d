import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Job } from "../../pkg/api/batch/v1/job.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { PodGroup } from "../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { Workload } from "../../pkg/api/scheduling/v1alpha2/workload.ts"
import { PriorityClass } from "../../pkg/api/scheduling/v1/priorityclass.ts"
import { ClusterRole } from "../../pkg/api/rbac/v1/clusterrole.ts"
import type { ApiError } from "../../pkg/apimachinery/errors.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { NOT_ADMITTED, PODGROUPS, WORKLOADS } from "./podgroup-cases.fixtures.ts"

const SERVED = {
  nodes: 0,
  features: { GenericWorkload: true },
  runtimeConfig: ["scheduling.k8s.io/v1alpha2=true"],
}
const WHOLE = {
  ...SERVED,
  features: {
    GenericWorkload: true,
    GangScheduling: true,
    TopologyAwareWorkloadScheduling: true,
    WorkloadAwarePreemption: true,
  },
}
const gang = { gang: { minCount: 2 } }
const named = (name: string) => ({ namespace: "default", name })

/** Returns the causes of a refusal; undefined where there is none. */
const causesOf = (creation: Promise<unknown>): Promise<readonly string[] | undefined> =>
  creation.then(
    () => undefined,
    (err: ApiError) => err.details?.causes?.map(({ field, message }) => `${field}: ${message}`) ?? [err.message],
  )

describe("Workloads and PodGroups", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster(WHOLE)
    await cluster.client.create(Workload, {
      metadata: named("known"),
      spec: { podGroupTemplates: [{ name: "t", schedulingPolicy: gang }] },
    })
  })
  afterAll(() => cluster.stop())

  test.each(WORKLOADS.map((one) => [one.what, one] as const))("a Workload with %s", async (_what, one) => {
    const name = one.name === undefined ? { generateName: "w-" } : { name: one.name }
    const creation = cluster.client.create(Workload, {
      metadata: { namespace: "default", ...name },
      spec: one.spec,
    } as never)
    expect(await causesOf(creation)).toEqual(one.causes)
  })

  test.each(PODGROUPS.map((one) => [one.what, one] as const))("a PodGroup with %s", async (_what, one) => {
    const name = one.name === undefined ? { generateName: "g-" } : { name: one.name }
    const creation = cluster.client.create(PodGroup, {
      metadata: { namespace: "default", ...name },
      spec: one.spec,
    } as never)
    expect(await causesOf(creation)).toEqual(one.causes)
  })

  test.each(NOT_ADMITTED)("a PodGroup with %s is not admitted", async (_what, spec, message) => {
    const creation = cluster.client.create(PodGroup, { metadata: named("refused"), spec } as never)
    await expect(creation).rejects.toThrow(message)
  })

  test("cannot change, and a group gets its priority, its mode and a finalizer", async () => {
    const { client } = cluster
    await client.create(PriorityClass, { metadata: { name: "high" }, value: 1000 })
    const group = await client.create(PodGroup, {
      metadata: named("fixed"),
      spec: { schedulingPolicy: gang, priorityClassName: "high" },
    })
    expect(group.spec).toMatchObject({ priority: 1000, priorityClassName: "high", disruptionMode: "Pod" })
    expect(group.metadata.finalizers).toEqual(["scheduling.k8s.io/podgroup-protection"])
    const changed = (spec: object) => causesOf(client.update(PodGroup, { ...group, spec: { ...group.spec, ...spec } }))
    for (const [field, value] of Object.entries({
      podGroupTemplateRef: { workload: { workloadName: "known", podGroupTemplateName: "t" } },
      schedulingPolicy: { gang: { minCount: 3 } },
      schedulingConstraints: { topology: [{ key: "a" }] },
      disruptionMode: "PodGroup",
      priorityClassName: "other",
      priority: 1,
    }))
      expect(await changed({ [field]: value })).toEqual([`spec.${field}: Invalid value: null: field is immutable`])
    const workload = await client.get(Workload, named("known"))
    const other = { ...workload, spec: { ...workload.spec, controllerRef: { kind: "Pod", name: "p" } } }
    expect(await causesOf(client.update(Workload, other as never))).toEqual([
      "spec.controllerRef: Invalid value: null: field is immutable",
    ])
    const more = [...workload.spec.podGroupTemplates, { name: "u", schedulingPolicy: gang }]
    const none = { ...workload, spec: { podGroupTemplates: [] } }
    expect(await causesOf(client.update(Workload, none as never))).toEqual([
      "spec.podGroupTemplates: Invalid value: null: field is immutable",
      "spec.podGroupTemplates: Required value",
    ])
    const longer = { ...workload, spec: { podGroupTemplates: more } }
    expect(await causesOf(client.update(Workload, longer as never))).toEqual([
      "spec.podGroupTemplates: Invalid value: null: field is immutable",
    ])
  })

  test("show themselves in tables", async () => {
    const { client } = cluster
    const tables = async (name: string) =>
      (await cluster.kubectl(`get podgroups ${name}`)).stdout.replace(/ +/g, " ").split("\n")
    await client.create(PodGroup, {
      metadata: named("shown"),
      spec: {
        schedulingPolicy: { basic: {} },
        podGroupTemplateRef: { workload: { workloadName: "known", podGroupTemplateName: "t" } },
      },
    })
    expect((await tables("shown")).slice(0, 2)).toEqual([
      "NAME POLICY WORKLOAD STATUS AGE",
      expect.stringMatching(/^shown Basic known Pending /),
    ])
    const group = await client.create(PodGroup, { metadata: named("told"), spec: { schedulingPolicy: gang } })
    const told = async (type: string, status: string, reason: string) => {
      const condition = { type, status, reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }
      const body = { status: { conditions: [condition] } }
      await client.patch(PodGroup, group.metadata, { type: "strategic", body }, { subresource: "status" })
      return (await tables("told"))[1]
    }
    expect(await told("PodGroupScheduled", "False", "Unschedulable")).toMatch(/^told Gang <none> Unschedulable /)
    expect(await told("PodGroupScheduled", "True", "Scheduled")).toMatch(/^told Gang <none> Scheduled /)
    expect(await told("DisruptionTarget", "True", "PreemptionByScheduler")).toMatch(/ PreemptionByScheduler /)
    const labelled = { metadata: { labels: { a: "b" } }, status: {} }
    await client.patch(PodGroup, group.metadata, { type: "merge", body: labelled }, { subresource: "status" })
    expect((await client.get(PodGroup, named("told"))).metadata.labels).toBeUndefined()
    await expect(told("DisruptionTarget", "Sometimes", "x")).rejects.toThrow(
      'status.conditions[0].status: Unsupported value: "Sometimes"',
    )
    expect((await cluster.kubectl("get workloads known")).stdout).toMatch(/^NAME +AGE\nknown /)
  })

  test("keep a Job whose pods are a gang at its parallelism", async () => {
    const { client } = cluster
    const job = await client.create(Job, {
      metadata: named("j"),
      spec: {
        parallelism: 2,
        suspend: true,
        template: {
          spec: {
            restartPolicy: "Never",
            schedulingGroup: { podGroupName: "fixed" },
            containers: [{ name: "c", image: "x" }],
          },
        },
      },
    })
    const change = (spec: object) => client.patch(Job, job.metadata, { type: "merge", body: { spec } })
    await expect(change({ parallelism: 3 })).rejects.toThrow(
      'cannot change parallelism for a Job referencing gang-scheduled PodGroup "fixed"',
    )
    await change({ backoffLimit: 1 })
  })
})

describe("a PodGroup", () => {
  test("stays while pods belong to it", async () => {
    await using cluster = await startCluster({ ...SERVED, nodes: 1 })
    const { client } = cluster
    await client.create(PodGroup, { metadata: named("g"), spec: { schedulingPolicy: { basic: {} } } })
    await client.create(Pod, {
      metadata: named("p"),
      spec: { schedulingGroup: { podGroupName: "g" }, containers: [{ name: "c", image: "x" }] },
    })
    await client.delete(PodGroup, named("g"))
    await cluster.settle()
    expect((await client.get(PodGroup, named("g"))).metadata.deletionTimestamp).toBeString()
    await client.delete(Pod, named("p"), { gracePeriodSeconds: 0 })
    await cluster.settle()
    await expect(client.get(PodGroup, named("g"))).rejects.toThrow("not found")
  })

  test("has only the fields whose gates are on", async () => {
    await using cluster = await startCluster(SERVED)
    const spec = {
      schedulingPolicy: gang,
      schedulingConstraints: { topology: [{ key: "a" }] },
      disruptionMode: "PodGroup",
      priorityClassName: "none",
      priority: 5,
      resourceClaims: [{ name: "c", resourceClaimName: "d" }],
    } as const
    const group = await cluster.client.create(PodGroup, { metadata: named("g"), spec })
    expect(group.spec).toEqual({ schedulingPolicy: gang, podGroupTemplateRef: null, disruptionMode: "Pod" })
    // The group shows the mode by default, and no other may be written.
    const changed = (more: object) =>
      causesOf(cluster.client.update(PodGroup, { ...group, spec: { ...group.spec, ...more } }))
    expect(await changed({ disruptionMode: "PodGroup" })).toEqual(["spec.disruptionMode: Forbidden"])
    expect(await changed({ disruptionMode: "All" })).toEqual(["spec.disruptionMode: Forbidden"])
    expect(await changed({ disruptionMode: "PodGroup", schedulingPolicy: { gang: { minCount: 3 } } })).toEqual([
      "spec.schedulingPolicy: Invalid value: null: field is immutable",
      "spec.disruptionMode: Forbidden",
    ])
    expect(await changed({ disruptionMode: undefined })).toBeUndefined()
    expect(await changed({ priority: 7, schedulingConstraints: { topology: [{ key: "a" }] } })).toBeUndefined()
    const { spec: workload } = await cluster.client.create(Workload, {
      metadata: named("w"),
      spec: { podGroupTemplates: [{ name: "t", ...spec }] },
    })
    expect(workload.podGroupTemplates).toEqual([{ name: "t", schedulingPolicy: gang, schedulingConstraints: null }])
  })
})

describe("schedulingGroup of pods", () => {
  const podOf = (schedulingGroup: object) =>
    ({ metadata: named("p"), spec: { schedulingGroup, containers: [{ name: "c", image: "x" }] } }) as never

  test("is left out where the gate is off", async () => {
    await using cluster = await startCluster({ nodes: 0 })
    const pod = await cluster.client.create(Pod, podOf({ podGroupName: "g" }))
    expect(pod.spec.schedulingGroup).toBeUndefined()
  })

  test("names a group, and cannot change", async () => {
    await using cluster = await startCluster(SERVED)
    const path = "spec.schedulingGroup"
    expect(await causesOf(cluster.client.create(Pod, podOf({})))).toEqual([
      `${path}.podGroupName: Invalid value: null: must specify one of: \`podGroupName\``,
    ])
    for (const podGroupName of ["", "A", "../x", "x".repeat(254)])
      expect(await causesOf(cluster.client.create(Pod, podOf({ podGroupName })))).toEqual([
        expect.stringContaining(`${path}.podGroupName: Invalid value: ${JSON.stringify(podGroupName)}: `),
      ])
    const pod = await cluster.client.create(Pod, podOf({ podGroupName: "g" }))
    const moved = { ...pod, spec: { ...pod.spec, schedulingGroup: { podGroupName: "h" } } }
    await expect(cluster.client.update(Pod, moved)).rejects.toThrow("pod updates may not change fields other than")
  })
})

test("the rights on groups are granted where the gate is on", async () => {
  const rightsOn = async (features: object) => {
    await using cluster = await startCluster({ ...SERVED, features: features as never })
    const { items } = await cluster.client.list(ClusterRole)
    return items
      .filter(({ rules = [] }) => rules?.some(({ resources }) => resources?.includes("podgroups")))
      .map(({ metadata }) => metadata.name)
  }
  expect(await rightsOn({})).toEqual([])
  expect(await rightsOn(SERVED.features)).toEqual([
    "admin",
    "edit",
    "system:aggregate-to-edit",
    "system:aggregate-to-view",
    "system:controller:podgroup-protection-controller",
    "system:kube-scheduler",
    "view",
  ])
})
