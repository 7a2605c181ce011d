import { describe, expect, test } from "bun:test"
import { Job } from "../../../../pkg/api/batch/v1/job.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import { startCluster } from "../../../cluster/testing/cluster.ts"
import { simulatedKubelet, type PodSpecInput } from "../../testing/simulated-kubelet.fixtures.ts"

const FINALIZER = "example.com/keeps-it"
const slow = { slow: { pullMs: 3_600_000 }, web: {}, fails: { runsMs: 100, exitCode: 1 } }

/**
 * The end of a pod that never ran, or ran in part, is reported before the pod is deleted, so that controllers that
 * count ended pods do not wait for ever.
 */
describe("a pod that is deleted before it ran", () => {
  const neverRan = { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } }
  const waiting = { waiting: { reason: "PodInitializing" } }
  const rows: readonly {
    readonly title: string
    readonly spec: PodSpecInput
    readonly init?: readonly object[]
    readonly containers: readonly object[]
  }[] = [
    {
      title: "while its image is pulled",
      spec: { containers: [{ name: "c", image: "slow" }] },
      containers: [neverRan],
    },
    {
      title: "while one of its containers runs already",
      spec: {
        containers: [
          { name: "a", image: "web" },
          { name: "b", image: "slow" },
        ],
      },
      containers: [{ terminated: { exitCode: 143 } }, neverRan],
    },
    {
      title: "before its first init container ran, so that the others were not started",
      spec: {
        initContainers: [
          { name: "i", image: "slow" },
          { name: "j", image: "web" },
        ],
        containers: [{ name: "c", image: "web" }],
      },
      init: [neverRan, waiting],
      containers: [waiting],
    },
    {
      title: "while an init container fails again and again",
      spec: { initContainers: [{ name: "i", image: "fails" }], containers: [{ name: "c", image: "web" }] },
      init: [{ terminated: { exitCode: 1 } }],
      containers: [waiting],
    },
  ]
  test.each(rows)("has failed: $title", async ({ spec, init, containers }) => {
    // given a pod that somebody keeps from going away
    await using node = await simulatedKubelet(slow)
    await node.create("p", { restartPolicy: "Always", ...spec }, { finalizers: [FINALIZER] })
    await node.cluster.advance(3000)
    // when
    await node.delete("p")
    await node.cluster.advance("1m")
    // then
    const { phase, containerStatuses, initContainerStatuses } = node.status("p")
    expect(phase).toBe("Failed")
    expect(containerStatuses?.map(({ state }) => state)).toMatchObject(containers)
    if (init !== undefined) expect(initContainerStatuses?.map(({ state }) => state)).toMatchObject(init)
  })

  test.each([
    ["podReplacementPolicy", { podReplacementPolicy: "Failed" as const }],
    [
      "podFailurePolicy",
      {
        podFailurePolicy: {
          rules: [{ action: "FailJob" as const, onExitCodes: { operator: "In" as const, values: [3] } }],
        },
      },
    ],
  ])("is counted and replaced by a Job with a %s", async (_title, policy) => {
    // given a Job whose pod waits for its image
    await using cluster = await startCluster({ nodes: 1, images: slow })
    await cluster.client.create(Job, {
      metadata: { name: "j", namespace: "default" },
      spec: { ...policy, template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "slow" }] } } },
    })
    await cluster.advance("5s")
    const [first] = await cluster.list(Pod)
    // when that is deleted
    await cluster.delete(Pod, first!.metadata.name!)
    await cluster.advance("1m")
    // then it is gone, counted, and another has taken its place
    const pods = await cluster.list(Pod)
    expect(pods.map(({ metadata, status }) => [metadata.uid === first!.metadata.uid, status.phase])).toEqual([
      [false, "Pending"],
    ])
    expect((await cluster.get(Job, "j")).status).toMatchObject({ failed: 1, active: 1 })
  })
})

describe("an error response to one write of the kubelet", () => {
  const reasons = [
    "BadRequest",
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "Conflict",
    "Invalid",
    "TooManyRequests",
    "InternalError",
    "ServiceUnavailable",
    "Timeout",
  ] as const

  test.each(reasons)("does not prevent that a running pod is shown as running: %s", async (error) => {
    // given a node whose first report of the pod is refused
    await using node = await simulatedKubelet({ web: {} })
    await using _fault = await node.cluster.faults.requests({
      verb: "patch",
      resource: "pods",
      subresource: "status",
      error,
      times: 1,
    })
    // when a pod is bound to it
    await node.create("p", { containers: [{ name: "c", image: "web" }] })
    await node.cluster.advance(10_000)
    // then
    expect(node.status("p").phase).toBe("Running")
  })

  test.each(reasons)("does not prevent the deletion of a pod: %s", async (error) => {
    // given a running pod
    await using node = await simulatedKubelet({ web: {} })
    await node.create("p", { containers: [{ name: "c", image: "web" }] })
    await using _status = await node.cluster.faults.requests({
      verb: "patch",
      resource: "pods",
      subresource: "status",
      error,
      times: 1,
    })
    await using _delete = await node.cluster.faults.requests({
      user: "system:node:node-0",
      verb: "delete",
      resource: "pods",
      error,
      times: 1,
    })
    // when it is deleted, and the kubelet's last report and its word that the pod may go are both refused once
    const ends: PodStatus["phase"][] = []
    await node.delete("p")
    for (let second = 0; second < 60; second++) {
      ends.push(node.pod("p")?.status.phase)
      await node.cluster.advance(1000)
    }
    // then it has gone, and not before its end was told
    expect(node.pod("p")).toBeUndefined()
    expect(ends.findLast((phase) => phase !== undefined)).toBe("Failed")
  })

  test.each(reasons)("does not prevent the creation of the Node, nor the update of its status: %s", async (error) => {
    // given an API that refuses the node's first write of each kind
    await using cluster = await startCluster({ components: { controllers: false } })
    const refuse = (verb: string, subresource?: string) =>
      cluster.faults.requests({
        user: "system:node:n",
        verb,
        resource: "nodes",
        error,
        times: 1,
        ...(subresource === undefined ? {} : { subresource }),
      })
    await using _create = await refuse("create")
    await using _patch = await refuse("patch", "status")
    const condition = async (wanted: string) =>
      (await cluster.get(Node, "n")).status.conditions?.find(({ type }) => type === wanted)?.status
    // when it starts
    await cluster.addNode({ name: "n" })
    // then it is there
    expect(await condition("Ready")).toBe("True")
    // and when its disk is full, and the report of that is refused
    await using _later = await refuse("patch", "status")
    await using _full = await cluster.faults.nodeOutOfDisk("n")
    await cluster.advance("15s")
    // then that is told
    expect(await condition("DiskPressure")).toBe("True")
  })
})

test("a pod that another client has ended stays ended, and its containers are stopped", async () => {
  // given a running pod
  await using node = await simulatedKubelet({ web: {} })
  await node.create("p", { containers: [{ name: "c", image: "web" }] })
  const container = node.cluster.container("p")!
  // when the collector of pods says that it has failed
  await node.cluster.client.patch(
    Pod,
    { namespace: "default", name: "p" },
    { type: "merge", body: { status: { phase: "Failed", reason: "NodeLost" } } },
    { subresource: "status" },
  )
  await node.cluster.advance("5m")
  // then
  expect(node.status("p")).toMatchObject({ phase: "Failed", reason: "NodeLost" })
  expect(container.running).toBe(false)
  const phases = node.cluster.history({ kind: "Pod" }).map(({ object }) => (object as Pod).status.phase)
  expect(phases.slice(phases.indexOf("Failed")).every((phase) => phase === "Failed")).toBe(true)
})
