import { describe, expect, test } from "bun:test"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster, type Cluster } from "../../cluster/testing/testing.ts"
import {
  STOPPED,
  NAME,
  job,
  start,
  ending,
  completionIndex,
  pods,
  created,
  active,
  read,
  conditions,
} from "./job.fixtures.ts"

const eventsOf = async (cluster: Cluster): Promise<readonly string[]> =>
  (await cluster.list(Event))
    .filter(({ involvedObject }) => involvedObject.kind === "Job")
    .map(({ type, reason, message, count }) => `${type} ${reason} ${message} ${count}`)

describe("Job", () => {
  test("runs as many pods at once as its parallelism until its completions are reached", async () => {
    // given
    await using cluster = await start({ runsMs: 10_000 })
    const { client } = cluster
    await client.create(Job, job({ parallelism: 2, completions: 5 }))
    // when
    await cluster.advance(5000)
    // then
    expect((await read(cluster)).status).toMatchObject({
      active: 2,
      ready: 2,
      terminating: 0,
      startTime: "2026-01-01T00:00:00Z",
    })
    // when
    await cluster.advance(30_000)
    // then
    const done = await read(cluster)
    expect(done.status).toMatchObject({
      succeeded: 5,
      ready: 0,
      terminating: 0,
      uncountedTerminatedPods: {},
      completionTime: "2026-01-01T00:00:30Z",
    })
    expect(done.status.active ?? 0).toBe(0)
    expect(conditions(done)).toEqual([
      ["SuccessCriteriaMet", "True", "CompletionsReached"],
      ["Complete", "True", "CompletionsReached"],
    ])
    expect((await pods(cluster)).map(({ metadata }) => metadata.finalizers ?? [])).toEqual([[], [], [], [], []])
    await cluster.settle()
    expect(await eventsOf(cluster)).toContain("Normal Completed Job completed 1")
  })

  test("without completions it is complete after the first success, once the other pods have ended", async () => {
    // given three pods, of which the second succeeds early
    let nth = 0
    await using cluster = await start(ending(() => [++nth === 2 ? 5000 : 20_000]))
    await cluster.client.create(Job, job({ parallelism: 3, completions: null }))
    // when
    await cluster.advance(10_000)
    // then nothing new begins, and what runs may end
    expect((await read(cluster)).status).toMatchObject({ active: 2, succeeded: 1 })
    await cluster.advance(10_000)
    expect((await read(cluster)).status).toMatchObject({ succeeded: 3 })
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
  })

  test("waits 10 s after a failure, then twice as long each time, and gives up beyond its backoffLimit", async () => {
    // given
    await using cluster = await start({ runsMs: 1000, exitCode: 1 })
    await cluster.client.create(Job, job({ backoffLimit: 3 }))
    // when
    await cluster.advance(600_000)
    // then
    expect(created(cluster, () => undefined).map(([at]) => at)).toEqual([0, 11, 32, 73])
    const done = await read(cluster)
    expect(done.status).toMatchObject({ failed: 4 })
    expect(conditions(done)).toEqual([
      ["FailureTarget", "True", "BackoffLimitExceeded"],
      ["Failed", "True", "BackoffLimitExceeded"],
    ])
    expect(await eventsOf(cluster)).toContain(
      "Warning BackoffLimitExceeded Job has reached the specified backoff limit 1",
    )
  })

  test("counts restarts by the kubelet with restartPolicy OnFailure", async () => {
    // given a container that fails, and fails again when it has been restarted
    await using cluster = await start(ending(({ attempt }) => (attempt < 2 ? [1000, 1] : undefined)))
    await cluster.client.create(Job, job({ backoffLimit: 2 }, { restartPolicy: "OnFailure" }))
    await cluster.advance(5000)
    expect((await pods(cluster)).map(({ status }) => status.containerStatuses?.[0]?.restartCount)).toEqual([1])
    expect(conditions(await read(cluster))).toEqual([])
    // when it is restarted for the second time
    await cluster.advance(60_000)
    // then
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Failed", "True", "BackoffLimitExceeded"])
    expect(await pods(cluster)).toEqual([])
  })

  test("deletes its active pods after activeDeadlineSeconds, and is Failed when they have ended", async () => {
    // given pods that take 5 s to end when they are deleted
    await using cluster = await start({ onStop: { afterMs: 5000, exitCode: STOPPED } })
    await cluster.client.create(Job, job({ parallelism: 2, completions: 2, activeDeadlineSeconds: 60 }))
    // when
    await cluster.advance(59_000)
    expect(conditions(await read(cluster))).toEqual([])
    await cluster.advance(2000)
    // then
    expect(conditions(await read(cluster))).toEqual([["FailureTarget", "True", "DeadlineExceeded"]])
    expect((await read(cluster)).status).toMatchObject({ terminating: 2 })
    await cluster.advance(5000)
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Failed", "True", "DeadlineExceeded"])
    expect((await read(cluster)).status).toMatchObject({ failed: 2, terminating: 0 })
    expect(await pods(cluster)).toEqual([])
  })

  test("when suspended it has no pods; when resumed it starts again, and so does its deadline", async () => {
    // given
    await using cluster = await start()
    const { client } = cluster
    await client.create(Job, job({ parallelism: 2, completions: 2, suspend: true, activeDeadlineSeconds: 60 }))
    await cluster.advance(10_000)
    expect(await pods(cluster)).toEqual([])
    expect((await read(cluster)).status.startTime).toBeUndefined()
    expect(conditions(await read(cluster))).toEqual([["Suspended", "True", "JobSuspended"]])
    const suspend = (value: boolean): Promise<unknown> =>
      client.patch(Job, NAME, { type: "merge", body: { spec: { suspend: value } } })
    // when it is resumed, suspended after 50 s and resumed once more
    await suspend(false)
    await cluster.advance(50_000)
    expect((await read(cluster)).status).toMatchObject({ active: 2, startTime: "2026-01-01T00:00:10Z" })
    await suspend(true)
    await cluster.advance(50_000)
    expect(await pods(cluster)).toEqual([])
    const { status } = await read(cluster)
    expect([status.failed ?? 0, status.startTime]).toEqual([0, undefined])
    await suspend(false)
    await cluster.advance(50_000)
    // then the deadline counts from the last resumption
    expect((await read(cluster)).status).toMatchObject({ active: 2, startTime: "2026-01-01T00:01:50Z" })
    expect(conditions(await read(cluster))).toEqual([["Suspended", "False", "JobResumed"]])
    await cluster.advance(11_000)
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Failed", "True", "DeadlineExceeded"])
    expect(await eventsOf(cluster)).toContain("Normal Suspended Job suspended 2")
  })

  test("follows a change of its parallelism without counting failures", async () => {
    // given
    await using cluster = await start()
    const { client } = cluster
    await client.create(Job, job({ parallelism: 4, completions: 8 }))
    await cluster.settle()
    // when
    await client.patch(Job, NAME, { type: "merge", body: { spec: { parallelism: 1 } } })
    await cluster.settle()
    // then
    expect(await active(cluster)).toHaveLength(1)
    expect((await read(cluster)).status).toMatchObject({ active: 1 })
    expect((await read(cluster)).status.failed ?? 0).toBe(0)
  })

  test("is ignored when another controller manages it", async () => {
    await using cluster = await start({ runsMs: 1000 })
    await cluster.client.create(Job, job({ managedBy: "example.com/other" }))
    await cluster.advance(10_000)
    expect(await pods(cluster)).toEqual([])
    expect((await read(cluster)).status.startTime).toBeUndefined()
  })

  test("adopts pods that its own selector matches, and releases pods when it is deleted", async () => {
    // given a pod that belongs to nobody
    await using cluster = await start()
    const { client } = cluster
    await client.create(Pod, {
      metadata: { name: "orphan", namespace: "default", labels: { job: "mine" } },
      spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work" }] },
    })
    // when
    await client.create(Job, {
      metadata: NAME,
      spec: {
        manualSelector: true,
        selector: { matchLabels: { job: "mine" } },
        template: {
          metadata: { labels: { job: "mine" } },
          spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work" }] },
        },
      },
    })
    await cluster.settle()
    // then
    const adopted = await pods(cluster)
    expect(
      adopted.map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.kind, metadata.finalizers]),
    ).toEqual([["orphan", "Job", ["batch.kubernetes.io/job-tracking"]]])
    // when the Job goes and leaves its pods
    await client.delete(Job, NAME, { propagationPolicy: "Orphan" })
    await cluster.advance(10_000)
    // then
    expect(
      (await pods(cluster)).map(({ metadata }) => [
        metadata.name,
        metadata.ownerReferences ?? [],
        metadata.finalizers ?? [],
      ]),
    ).toEqual([["orphan", [], []]])
  })

  test("releases a pod whose labels no longer match, and replaces it", async () => {
    await using cluster = await start()
    const { client } = cluster
    await client.create(Job, job({}))
    await cluster.settle()
    const [pod] = await pods(cluster)
    await client.patch(Pod, pod!.metadata, {
      type: "json",
      body: [{ op: "replace", path: "/metadata/labels", value: { stray: "yes" } }],
    })
    await cluster.settle()
    const released = await client.get(Pod, pod!.metadata)
    expect([released.metadata.ownerReferences ?? [], released.metadata.finalizers ?? []]).toEqual([[], []])
    expect(await active(cluster)).toHaveLength(2)
    expect((await read(cluster)).status).toMatchObject({ active: 1 })
  })

  test.each(["Background", "Foreground"] as const)("is deleted with its pods in the %s", async (propagationPolicy) => {
    await using cluster = await start()
    await cluster.client.create(Job, job({ parallelism: 3, completions: 3 }))
    await cluster.settle()
    await cluster.client.delete(Job, NAME, { propagationPolicy })
    await cluster.advance(60_000)
    expect(await pods(cluster)).toEqual([])
    expect((await cluster.client.list(Job)).items).toEqual([])
  })

  test("counts more pods than its status can list at once", async () => {
    // given that all of them end at the same time
    await using cluster = await startCluster({ nodes: [{ capacity: { pods: 2000 } }], components: { kubelet: false } })
    await cluster.client.create(Job, job({ parallelism: 510, completions: 510 }))
    await cluster.settle()
    await Promise.all(
      (await pods(cluster)).map(({ metadata }) =>
        cluster.client.patch(
          Pod,
          metadata,
          { type: "merge", body: { status: { phase: "Succeeded" } } },
          { subresource: "status" },
        ),
      ),
    )
    // when
    await cluster.settle()
    // then
    expect((await read(cluster)).status).toMatchObject({ succeeded: 510, uncountedTerminatedPods: {} })
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
  }, 60_000)
})

describe("pod failure policy", () => {
  const policy = (...rules: object[]) => ({ podFailurePolicy: { rules } })

  test("FailJob fails the Job at once and names the rule", async () => {
    await using cluster = await start({ runsMs: 1000, exitCode: 42 })
    await cluster.client.create(
      Job,
      job({ ...policy({ action: "FailJob", onExitCodes: { operator: "In", values: [40, 42] } }), backoffLimit: 5 }),
    )
    await cluster.advance(5000)
    const done = await read(cluster)
    expect(conditions(done)).toEqual([
      ["FailureTarget", "True", "PodFailurePolicy"],
      ["Failed", "True", "PodFailurePolicy"],
    ])
    expect(done.status.conditions?.[0]?.message).toMatch(
      /^Container main for pod default\/work-\w+ failed with exit code 42 matching FailJob rule at index 0$/,
    )
    expect(done.status).toMatchObject({ failed: 1 })
  })

  test("Ignore replaces disrupted pods without counting them", async () => {
    // given
    let nth = 0
    await using cluster = await start(ending(() => (++nth <= 2 ? undefined : [1000])))
    await cluster.client.create(
      Job,
      job({ ...policy({ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }), backoffLimit: 0 }),
    )
    await cluster.settle()
    // when the first two pods are evicted
    for (let i = 0; i < 2; i++) {
      const [pod] = await active(cluster)
      await cluster.client.createSubresource(Pod, pod!.metadata, "eviction", {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: pod!.metadata.name },
      })
      await cluster.advance(20_000)
    }
    // then
    await cluster.advance(20_000)
    expect(nth).toBe(3)
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
    expect((await read(cluster)).status.failed ?? 0).toBe(0)
  })

  test("Count counts as if there were no policy, and NotIn matches the other codes", async () => {
    await using cluster = await start({ runsMs: 1000, exitCode: 3 })
    await cluster.client.create(
      Job,
      job({
        ...policy(
          { action: "Count", onExitCodes: { containerName: "main", operator: "In", values: [3] } },
          { action: "FailJob", onExitCodes: { operator: "NotIn", values: [7] } },
        ),
        backoffLimit: 0,
      }),
    )
    await cluster.advance(5000)
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Failed", "True", "BackoffLimitExceeded"])
  })

  test("FailIndex fails an index at its first such failure", async () => {
    let tries = 0
    await using cluster = await start(
      ending((container) => {
        if (completionIndex(container) !== 0) return [2000]
        tries++
        return [1000, 42]
      }),
    )
    await cluster.client.create(
      Job,
      job({
        ...policy({ action: "FailIndex", onExitCodes: { operator: "In", values: [42] } }),
        parallelism: 2,
        completions: 2,
        completionMode: "Indexed",
        backoffLimitPerIndex: 5,
      }),
    )
    await cluster.advance(60_000)
    expect(tries).toBe(1)
    expect((await read(cluster)).status).toMatchObject({ failedIndexes: "0", completedIndexes: "1" })
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Failed", "True", "FailedIndexes"])
  })
})

describe("podReplacementPolicy", () => {
  test.each([
    ["TerminatingOrFailed", 1],
    ["Failed", 0],
  ] as const)("%s: %p pods run while the deleted pod terminates", async (podReplacementPolicy, running) => {
    // given a pod that takes its time to end
    await using cluster = await start({ onStop: { afterMs: 20_000, exitCode: STOPPED } })
    const { client } = cluster
    await client.create(Job, job({ podReplacementPolicy }))
    await cluster.settle()
    // when it is deleted
    const [pod] = await pods(cluster)
    await client.delete(Pod, pod!.metadata)
    await cluster.advance(15_000)
    // then
    expect(await active(cluster)).toHaveLength(running)
    expect((await read(cluster)).status).toMatchObject({ terminating: 1 })
    await cluster.advance(30_000)
    expect(await active(cluster)).toHaveLength(1)
    expect((await read(cluster)).status).toMatchObject({ failed: 1, terminating: 0, active: 1 })
  })
})
