import { describe, expect, test } from "bun:test"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Event } from "../../../pkg/api/core/v1/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster, type Cluster, type ContainerHandle, type ImageBehaviour } from "../../cluster/testing/testing.ts"

const START = Date.parse("2026-01-01T00:00:00Z")
/** Exit code of a program that SIGTERM ended. */
const STOPPED = 143
const NAME = { name: "work", namespace: "default" }

const job = (spec: object, pod: object = {}) => ({
  metadata: NAME,
  spec: {
    ...spec,
    template: { spec: { restartPolicy: "Never" as const, containers: [{ name: "main", image: "work" }], ...pod } },
  },
})

/** A node with room for many pods, which do as `work` says; without it they run until they are stopped. */
const start = (work: ImageBehaviour = {}) =>
  startCluster({ nodes: [{ capacity: { pods: 2000, cpu: 1000, memory: "1000Gi" } }], images: { work } })
/**
 * Each pod as `endingOf` says: how long it runs and its exit code (0 unless given). One without runs until it is
 * stopped.
 */
const ending = (
  endingOf: (container: ContainerHandle) => readonly [runsMs: number, exitCode?: number] | undefined,
): ImageBehaviour => ({
  async run(container) {
    const [runsMs, exitCode = 0] = endingOf(container) ?? []
    if (runsMs === undefined) await new Promise((resolve) => container.stopping.addEventListener("abort", resolve))
    else await container.sleep(runsMs)
    return runsMs === undefined ? STOPPED : exitCode
  },
})
const completionIndex = ({ env }: ContainerHandle): number => Number(env["JOB_COMPLETION_INDEX"])

const pods = (cluster: Cluster): Promise<readonly Pod[]> => cluster.list(Pod)
/** When pods were created, in seconds since the start, of all there ever were, with what `more` says of each. */
const created = <T>(cluster: Cluster, more: (pod: Pod) => T) =>
  cluster
    .history({ kind: "Pod" })
    .flatMap(({ type, object, time }) =>
      type === "create" ? [[(Date.parse(time) - START) / 1000, more(object as Pod)] as const] : [],
    )
const active = async (cluster: Cluster): Promise<readonly Pod[]> =>
  (await pods(cluster)).filter(
    ({ status, metadata }) => status.phase === "Running" && metadata.deletionTimestamp === undefined,
  )
const read = (cluster: Cluster): Promise<Job> => cluster.get(Job, NAME)
const conditions = ({ status }: Job): readonly (readonly (string | undefined)[])[] =>
  (status.conditions ?? []).map(({ type, status: value, reason }) => [type, value, reason])
const indexOf = ({ metadata }: Pod): string | undefined =>
  metadata.annotations?.["batch.kubernetes.io/job-completion-index"]
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
  }, 30_000)
})

describe("Indexed Job", () => {
  test("gives each pod its index, and completes each index once", async () => {
    // given the pod of index 1 fails the first time
    let failed = false
    await using cluster = await start(
      ending((container) => {
        if (completionIndex(container) !== 1 || failed) return [5000]
        failed = true
        return [1000, 1]
      }),
    )
    const { client } = cluster
    await client.create(Job, job({ parallelism: 2, completions: 3, completionMode: "Indexed" }))
    await cluster.settle()
    // then
    const first = (await pods(cluster)).toSorted((a, b) => (indexOf(a)! < indexOf(b)! ? -1 : 1))
    expect(first.map(indexOf)).toEqual(["0", "1"])
    expect(first[1]!.metadata.name).toStartWith("work-1-")
    expect(first[1]!.metadata.labels?.["batch.kubernetes.io/job-completion-index"]).toBe("1")
    expect(first[1]!.spec.hostname).toBe("work-1")
    expect(first[1]!.spec.containers[0]!.env?.[0]).toMatchObject({
      name: "JOB_COMPLETION_INDEX",
      valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" } },
    })
    // when
    await cluster.advance(60_000)
    // then
    expect((await read(cluster)).status).toMatchObject({ succeeded: 3, failed: 1, completedIndexes: "0-2" })
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
  })

  test("can be resized by changing completions and parallelism together", async () => {
    await using cluster = await start()
    const { client } = cluster
    await client.create(Job, job({ parallelism: 2, completions: 2, completionMode: "Indexed" }))
    await cluster.settle()
    const resize = async (size: number): Promise<readonly number[]> => {
      await client.patch(Job, NAME, { type: "merge", body: { spec: { parallelism: size, completions: size } } })
      await cluster.settle()
      return (await active(cluster)).map((pod) => Number(indexOf(pod))).toSorted((a, b) => a - b)
    }
    expect(await resize(4)).toEqual([0, 1, 2, 3])
    expect(await resize(1)).toEqual([0])
  })

  test("with backoffLimitPerIndex retries each index separately and fails with the failed indexes", async () => {
    // given index 1 always fails
    await using cluster = await start(ending((container) => (completionIndex(container) === 1 ? [1000, 1] : [3000])))
    await cluster.client.create(
      Job,
      job({ parallelism: 3, completions: 4, completionMode: "Indexed", backoffLimitPerIndex: 2 }),
    )
    // when
    await cluster.advance(300_000)
    // then
    const tries = created(cluster, (pod) => [
      indexOf(pod),
      pod.metadata.annotations?.["batch.kubernetes.io/job-index-failure-count"],
    ]).filter(([, [index]]) => index === "1")
    expect(tries).toEqual([
      [0, ["1", "0"]],
      [11, ["1", "1"]],
      [32, ["1", "2"]],
    ])
    const done = await read(cluster)
    expect(done.status).toMatchObject({
      succeeded: 3,
      failed: 3,
      completedIndexes: "0,2,3",
      failedIndexes: "1",
      uncountedTerminatedPods: {},
    })
    expect(conditions(done)).toEqual([
      ["FailureTarget", "True", "FailedIndexes"],
      ["Failed", "True", "FailedIndexes"],
    ])
  })

  test.each([
    { title: "is suspended", given: { without: { suspend: true }, again: { suspend: false } } },
    { title: "has no parallelism", given: { without: { parallelism: 0 }, again: { parallelism: 1 } } },
  ])(
    "while it $title it keeps the last failed pod of an index, for the successor to take over its count",
    async ({ given }) => {
      // given a pod that is deleted, which counts as a failure, and no successor
      await using cluster = await start()
      const { client } = cluster
      const spec = { parallelism: 1, completions: 1, completionMode: "Indexed", backoffLimitPerIndex: 1 }
      await client.create(Job, job(spec))
      await cluster.advance(5000)
      const [failed] = await pods(cluster)
      const become = (change: object) => client.patch(Job, NAME, { type: "merge", body: { spec: change } })
      await client.delete(Pod, failed!.metadata, { gracePeriodSeconds: 20 })
      await become(given.without)
      await cluster.advance(600_000)
      const kept = (await pods(cluster)).map(({ metadata }) => [metadata.uid, metadata.finalizers])
      expect(kept).toEqual([[failed!.metadata.uid, ["batch.kubernetes.io/job-tracking"]]])
      // when
      await become(given.again)
      await cluster.advance(5000)
      // then
      const counts = (await pods(cluster)).map(({ metadata }) => [
        metadata.annotations?.["batch.kubernetes.io/job-index-failure-count"],
        metadata.deletionTimestamp,
      ])
      expect(counts).toEqual([["1", undefined]])
      expect((await read(cluster)).status).toMatchObject({ active: 1, failed: 1, uncountedTerminatedPods: {} })
    },
  )

  test("stops all indexes when more than maxFailedIndexes have failed", async () => {
    await using cluster = await start(ending((container) => (completionIndex(container) < 2 ? [1000, 1] : undefined)))
    await cluster.client.create(
      Job,
      job({ parallelism: 4, completions: 4, completionMode: "Indexed", backoffLimitPerIndex: 0, maxFailedIndexes: 1 }),
    )
    await cluster.advance(10_000)
    expect(conditions(await read(cluster)).at(-1)).toEqual(["Failed", "True", "MaxFailedIndexesExceeded"])
    expect((await read(cluster)).status).toMatchObject({ failedIndexes: "0,1" })
    expect(await active(cluster)).toEqual([])
  })

  test.each([
    ["an index", [{ succeededIndexes: "0" }], "Matched rules at index 0"],
    ["a number of indexes", [{ succeededIndexes: "3" }, { succeededCount: 2 }], "Matched rules at index 1"],
    ["some of a set", [{ succeededIndexes: "0-3", succeededCount: 2 }], "Matched rules at index 0"],
  ])("is done early when its success policy asks for %s", async (_what, rules, message) => {
    // given index 1 succeeds, then index 0, and the others run on
    await using cluster = await start(
      ending((container) => (completionIndex(container) < 2 ? [2000 - 1000 * completionIndex(container)] : undefined)),
    )
    await cluster.client.create(
      Job,
      job({ parallelism: 4, completions: 4, completionMode: "Indexed", successPolicy: { rules } }),
    )
    // when
    await cluster.advance(10_000)
    // then
    const done = await read(cluster)
    expect(conditions(done)).toEqual([
      ["SuccessCriteriaMet", "True", "SuccessPolicy"],
      ["Complete", "True", "SuccessPolicy"],
    ])
    expect(done.status.conditions?.[0]?.message).toBe(message)
    expect(done.status).toMatchObject({ succeeded: 2, completedIndexes: "0,1" })
    expect(done.status.failed ?? 0).toBe(0)
    expect(await active(cluster)).toEqual([])
  })
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
  ] as const)("%s: %p pods run while the deleted one is going", async (podReplacementPolicy, running) => {
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
