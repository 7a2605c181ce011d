import { describe, expect, test } from "bun:test"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Event } from "../../../pkg/api/core/v1/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"
import { finishPods, type Ending } from "../../../pkg/testing/finishing-pods.ts"
import { addNode } from "../../../pkg/testing/pods.ts"

const NAME = { name: "work", namespace: "default" }

const job = (spec: object, pod: object = {}) => ({
  metadata: NAME,
  spec: { ...spec, template: { spec: { restartPolicy: "Never" as const, containers: [{ name: "main", image: "busybox" }], ...pod } } },
})

async function start(endingOf: (pod: Pod) => Ending | undefined, lingerMs = 0): Promise<ControlPlane> {
  const plane = await startControlPlane()
  await addNode(plane, "node-0", { allocatable: { pods: "2000", cpu: "1000", memory: "1000Gi" } })
  finishPods(plane, endingOf, lingerMs)
  return plane
}

const after = (seconds: number, exitCode = 0): (() => Ending) => () => ({ afterMs: seconds * 1000, exitCode })
const pods = async ({ client }: ControlPlane): Promise<readonly Pod[]> => (await client.list(Pod, { namespace: "default" })).items
const active = async (plane: ControlPlane): Promise<readonly Pod[]> => (await pods(plane)).filter(({ status, metadata }) => status.phase === "Running" && metadata.deletionTimestamp === undefined)
const read = ({ client }: ControlPlane): Promise<Job> => client.get(Job, NAME)
const conditions = ({ status }: Job): readonly (readonly (string | undefined)[])[] => (status.conditions ?? []).map(({ type, status: value, reason }) => [type, value, reason])
const indexOf = ({ metadata }: Pod): string | undefined => metadata.annotations?.["batch.kubernetes.io/job-completion-index"]
const startedAt = ({ clock }: ControlPlane): ((pod: Pod) => number) => {
  const now = clock.now()
  return ({ metadata }) => (Date.parse(metadata.creationTimestamp!) - now) / 1000
}
const eventsOf = async ({ client }: ControlPlane): Promise<readonly string[]> =>
  (await client.list(Event, { namespace: "default" })).items.filter(({ involvedObject }) => involvedObject.kind === "Job").map(({ type, reason, message, count }) => `${type} ${reason} ${message} ${count}`)

describe("Job", () => {
  test("runs as many pods at once as its parallelism until its completions are reached", async () => {
    // given
    await using plane = await start(after(10))
    const { client, clock } = plane
    await client.create(Job, job({ parallelism: 2, completions: 5 }))
    // when
    await clock.advance(5000)
    // then
    expect((await read(plane)).status).toMatchObject({ active: 2, ready: 2, terminating: 0, startTime: "2026-01-01T00:00:00Z" })
    // when
    await clock.advance(30_000)
    // then
    const done = await read(plane)
    expect(done.status).toMatchObject({ succeeded: 5, ready: 0, terminating: 0, uncountedTerminatedPods: {}, completionTime: "2026-01-01T00:00:30Z" })
    expect(done.status.active ?? 0).toBe(0)
    expect(conditions(done)).toEqual([["SuccessCriteriaMet", "True", "CompletionsReached"], ["Complete", "True", "CompletionsReached"]])
    expect((await pods(plane)).map(({ metadata }) => metadata.finalizers ?? [])).toEqual([[], [], [], [], []])
    await clock.settle()
    expect(await eventsOf(plane)).toContain("Normal Completed Job completed 1")
  })

  test("without completions ends with the first success, once the others have ended", async () => {
    // given three pods, of which the second succeeds early
    let nth = 0
    await using plane = await start(() => (++nth === 2 ? { afterMs: 5000 } : { afterMs: 20_000 }))
    await plane.client.create(Job, job({ parallelism: 3, completions: null }))
    // when
    await plane.clock.advance(10_000)
    // then nothing new begins, and what runs may end
    expect((await read(plane)).status).toMatchObject({ active: 2, succeeded: 1 })
    await plane.clock.advance(10_000)
    expect((await read(plane)).status).toMatchObject({ succeeded: 3 })
    expect(conditions(await read(plane)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
  })

  test("waits 10 s after a failure, then twice as long each time, and gives up beyond its backoffLimit", async () => {
    // given
    await using plane = await start(after(1, 1))
    const since = startedAt(plane)
    const starts: number[] = []
    plane.informers.of(Pod).on({ added: (pod) => starts.push(since(pod)) })
    await plane.client.create(Job, job({ backoffLimit: 3 }))
    // when
    await plane.clock.advance(600_000)
    // then
    expect(starts).toEqual([0, 11, 32, 73])
    const done = await read(plane)
    expect(done.status).toMatchObject({ failed: 4 })
    expect(conditions(done)).toEqual([["FailureTarget", "True", "BackoffLimitExceeded"], ["Failed", "True", "BackoffLimitExceeded"]])
    expect(await eventsOf(plane)).toContain("Warning BackoffLimitExceeded Job has reached the specified backoff limit 1")
  })

  test("counts restarts by the kubelet with restartPolicy OnFailure", async () => {
    // given a pod that runs on
    await using plane = await start(() => undefined)
    const { client, clock } = plane
    await client.create(Job, job({ backoffLimit: 2 }, { restartPolicy: "OnFailure" }))
    await clock.settle()
    // when its container has been restarted twice
    const [pod] = await pods(plane)
    await client.patch(Pod, pod!.metadata, { type: "merge", body: { status: { containerStatuses: [{ name: "main", image: "busybox", imageID: "", ready: true, restartCount: 2, state: {} }] } } }, { subresource: "status" })
    await clock.settle()
    // then
    expect(conditions(await read(plane)).at(-1)).toEqual(["Failed", "True", "BackoffLimitExceeded"])
    expect(await pods(plane)).toEqual([])
  })

  test("ends what runs when its activeDeadlineSeconds have passed, and is failed when all of it is gone", async () => {
    // given pods that take 5 s to end when they are deleted
    await using plane = await start(() => undefined, 5000)
    await plane.client.create(Job, job({ parallelism: 2, completions: 2, activeDeadlineSeconds: 60 }))
    // when
    await plane.clock.advance(59_000)
    expect(conditions(await read(plane))).toEqual([])
    await plane.clock.advance(2000)
    // then
    expect(conditions(await read(plane))).toEqual([["FailureTarget", "True", "DeadlineExceeded"]])
    expect((await read(plane)).status).toMatchObject({ terminating: 2 })
    await plane.clock.advance(5000)
    expect(conditions(await read(plane)).at(-1)).toEqual(["Failed", "True", "DeadlineExceeded"])
    expect((await read(plane)).status).toMatchObject({ failed: 2, terminating: 0 })
    expect(await pods(plane)).toEqual([])
  })

  test("suspended has no pods; resumed it starts anew, and its deadline with it", async () => {
    // given
    await using plane = await start(() => undefined)
    const { client, clock } = plane
    await client.create(Job, job({ parallelism: 2, completions: 2, suspend: true, activeDeadlineSeconds: 60 }))
    await clock.advance(10_000)
    expect(await pods(plane)).toEqual([])
    expect((await read(plane)).status.startTime).toBeUndefined()
    expect(conditions(await read(plane))).toEqual([["Suspended", "True", "JobSuspended"]])
    const suspend = (value: boolean): Promise<unknown> => client.patch(Job, NAME, { type: "merge", body: { spec: { suspend: value } } })
    // when it is resumed, suspended after 50 s and resumed once more
    await suspend(false)
    await clock.advance(50_000)
    expect((await read(plane)).status).toMatchObject({ active: 2, startTime: "2026-01-01T00:00:10Z" })
    await suspend(true)
    await clock.advance(50_000)
    expect(await pods(plane)).toEqual([])
    expect((await read(plane)).status.failed ?? 0).toBe(0)
    await suspend(false)
    await clock.advance(50_000)
    // then the deadline counts from the last resumption
    expect((await read(plane)).status).toMatchObject({ active: 2, startTime: "2026-01-01T00:01:50Z" })
    expect(conditions(await read(plane))).toEqual([["Suspended", "False", "JobResumed"]])
    await clock.advance(11_000)
    expect(conditions(await read(plane)).at(-1)).toEqual(["Failed", "True", "DeadlineExceeded"])
    expect(await eventsOf(plane)).toContain("Normal Suspended Job suspended 2")
  })

  test("follows a change of its parallelism without counting failures", async () => {
    // given
    await using plane = await start(() => undefined)
    const { client, clock } = plane
    await client.create(Job, job({ parallelism: 4, completions: 8 }))
    await clock.settle()
    // when
    await client.patch(Job, NAME, { type: "merge", body: { spec: { parallelism: 1 } } })
    await clock.settle()
    // then
    expect(await active(plane)).toHaveLength(1)
    expect((await read(plane)).status).toMatchObject({ active: 1 })
    expect((await read(plane)).status.failed ?? 0).toBe(0)
  })

  test("managed by another controller is left alone", async () => {
    await using plane = await start(after(1))
    await plane.client.create(Job, job({ managedBy: "example.com/other" }))
    await plane.clock.advance(10_000)
    expect(await pods(plane)).toEqual([])
    expect((await read(plane)).status.startTime).toBeUndefined()
  })

  test("adopts pods that its own selector matches, and lets pods go when it is deleted", async () => {
    // given a pod that belongs to nobody
    await using plane = await start(() => undefined)
    const { client, clock } = plane
    await client.create(Pod, { metadata: { name: "orphan", namespace: "default", labels: { job: "mine" } }, spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } })
    // when
    await client.create(Job, {
      metadata: NAME,
      spec: { manualSelector: true, selector: { matchLabels: { job: "mine" } }, template: { metadata: { labels: { job: "mine" } }, spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } } },
    })
    await clock.settle()
    // then
    const adopted = (await pods(plane))
    expect(adopted.map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.kind, metadata.finalizers])).toEqual([["orphan", "Job", ["batch.kubernetes.io/job-tracking"]]])
    // when the Job goes and leaves its pods
    await client.delete(Job, NAME, { propagationPolicy: "Orphan" })
    await clock.advance(10_000)
    // then
    expect((await pods(plane)).map(({ metadata }) => [metadata.name, metadata.ownerReferences ?? [], metadata.finalizers ?? []])).toEqual([["orphan", [], []]])
  })

  test("lets a pod go whose labels fit no more, and replaces it", async () => {
    await using plane = await start(() => undefined)
    const { client, clock } = plane
    await client.create(Job, job({}))
    await clock.settle()
    const [pod] = await pods(plane)
    await client.patch(Pod, pod!.metadata, { type: "json", body: [{ op: "replace", path: "/metadata/labels", value: { stray: "yes" } }] })
    await clock.settle()
    const released = await client.get(Pod, pod!.metadata)
    expect([released.metadata.ownerReferences ?? [], released.metadata.finalizers ?? []]).toEqual([[], []])
    expect(await active(plane)).toHaveLength(2)
    expect((await read(plane)).status).toMatchObject({ active: 1 })
  })

  test.each(["Background", "Foreground"] as const)("takes its pods along when it is deleted in the %s", async (propagationPolicy) => {
    await using plane = await start(() => undefined)
    await plane.client.create(Job, job({ parallelism: 3, completions: 3 }))
    await plane.clock.settle()
    await plane.client.delete(Job, NAME, { propagationPolicy })
    await plane.clock.advance(60_000)
    expect(await pods(plane)).toEqual([])
    expect((await plane.client.list(Job)).items).toEqual([])
  })

  test("counts more pods than fit into its status at once", async () => {
    await using plane = await start(after(10))
    await plane.client.create(Job, job({ parallelism: 510, completions: 510 }))
    await plane.clock.advance(30_000)
    expect((await read(plane)).status).toMatchObject({ succeeded: 510, uncountedTerminatedPods: {} })
    expect(conditions(await read(plane)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
  }, 30_000)
})

describe("Indexed Job", () => {
  test("gives each pod its index, and completes each index once", async () => {
    // given the pod of index 1 fails the first time
    let failed = false
    await using plane = await start((pod) => {
      if (indexOf(pod) !== "1" || failed) return { afterMs: 5000 }
      failed = true
      return { afterMs: 1000, exitCode: 1 }
    })
    const { client, clock } = plane
    await client.create(Job, job({ parallelism: 2, completions: 3, completionMode: "Indexed" }))
    await clock.settle()
    // then
    const first = (await pods(plane)).toSorted((a, b) => (indexOf(a)! < indexOf(b)! ? -1 : 1))
    expect(first.map(indexOf)).toEqual(["0", "1"])
    expect(first[1]!.metadata.name).toStartWith("work-1-")
    expect(first[1]!.metadata.labels?.["batch.kubernetes.io/job-completion-index"]).toBe("1")
    expect(first[1]!.spec.hostname).toBe("work-1")
    expect(first[1]!.spec.containers[0]!.env?.[0]).toMatchObject({ name: "JOB_COMPLETION_INDEX", valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" } } })
    // when
    await clock.advance(60_000)
    // then
    expect((await read(plane)).status).toMatchObject({ succeeded: 3, failed: 1, completedIndexes: "0-2" })
    expect(conditions(await read(plane)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
  })

  test("grows and shrinks with completions and parallelism in tandem", async () => {
    await using plane = await start(() => undefined)
    const { client, clock } = plane
    await client.create(Job, job({ parallelism: 2, completions: 2, completionMode: "Indexed" }))
    await clock.settle()
    const resize = async (size: number): Promise<readonly number[]> => {
      await client.patch(Job, NAME, { type: "merge", body: { spec: { parallelism: size, completions: size } } })
      await clock.settle()
      return (await active(plane)).map((pod) => Number(indexOf(pod))).toSorted((a, b) => a - b)
    }
    expect(await resize(4)).toEqual([0, 1, 2, 3])
    expect(await resize(1)).toEqual([0])
  })

  test("with backoffLimitPerIndex tries each index by itself and fails with the ones given up", async () => {
    // given index 1 always fails
    await using plane = await start((pod) => (indexOf(pod) === "1" ? { afterMs: 1000, exitCode: 1 } : { afterMs: 3000 }))
    const since = startedAt(plane)
    const tries: (readonly [number, string | undefined])[] = []
    plane.informers.of(Pod).on({ added: (pod) => void (indexOf(pod) === "1" && tries.push([since(pod), pod.metadata.annotations?.["batch.kubernetes.io/job-index-failure-count"]])) })
    await plane.client.create(Job, job({ parallelism: 3, completions: 4, completionMode: "Indexed", backoffLimitPerIndex: 2 }))
    // when
    await plane.clock.advance(300_000)
    // then
    expect(tries).toEqual([[0, "0"], [11, "1"], [32, "2"]])
    const done = await read(plane)
    expect(done.status).toMatchObject({ succeeded: 3, failed: 3, completedIndexes: "0,2,3", failedIndexes: "1", uncountedTerminatedPods: {} })
    expect(conditions(done)).toEqual([["FailureTarget", "True", "FailedIndexes"], ["Failed", "True", "FailedIndexes"]])
  })

  test("stops all when more than maxFailedIndexes have failed", async () => {
    await using plane = await start((pod) => (Number(indexOf(pod)) < 2 ? { afterMs: 1000, exitCode: 1 } : undefined))
    await plane.client.create(Job, job({ parallelism: 4, completions: 4, completionMode: "Indexed", backoffLimitPerIndex: 0, maxFailedIndexes: 1 }))
    await plane.clock.advance(10_000)
    expect(conditions(await read(plane)).at(-1)).toEqual(["Failed", "True", "MaxFailedIndexesExceeded"])
    expect((await read(plane)).status).toMatchObject({ failedIndexes: "0,1" })
    expect(await active(plane)).toEqual([])
  })

  test.each([
    ["an index", [{ succeededIndexes: "0" }], "Matched rules at index 0"],
    ["a number of indexes", [{ succeededIndexes: "3" }, { succeededCount: 2 }], "Matched rules at index 1"],
    ["some of a set", [{ succeededIndexes: "0-3", succeededCount: 2 }], "Matched rules at index 0"],
  ])("is done early when its success policy asks for %s", async (_what, rules, message) => {
    // given index 1 succeeds, then index 0, and the others run on
    await using plane = await start((pod) => (Number(indexOf(pod)) < 2 ? { afterMs: 2000 - 1000 * Number(indexOf(pod)) } : undefined))
    await plane.client.create(Job, job({ parallelism: 4, completions: 4, completionMode: "Indexed", successPolicy: { rules } }))
    // when
    await plane.clock.advance(10_000)
    // then
    const done = await read(plane)
    expect(conditions(done)).toEqual([["SuccessCriteriaMet", "True", "SuccessPolicy"], ["Complete", "True", "SuccessPolicy"]])
    expect(done.status.conditions?.[0]?.message).toBe(message)
    expect(done.status).toMatchObject({ succeeded: 2, completedIndexes: "0,1" })
    expect(done.status.failed ?? 0).toBe(0)
    expect(await active(plane)).toEqual([])
  })
})

describe("pod failure policy", () => {
  const policy = (...rules: object[]) => ({ podFailurePolicy: { rules } })

  test("FailJob fails the Job at once and says by which rule", async () => {
    await using plane = await start(after(1, 42))
    await plane.client.create(Job, job({ ...policy({ action: "FailJob", onExitCodes: { operator: "In", values: [40, 42] } }), backoffLimit: 5 }))
    await plane.clock.advance(5000)
    const done = await read(plane)
    expect(conditions(done)).toEqual([["FailureTarget", "True", "PodFailurePolicy"], ["Failed", "True", "PodFailurePolicy"]])
    expect(done.status.conditions?.[0]?.message).toMatch(/^Container main for pod default\/work-\w+ failed with exit code 42 matching FailJob rule at index 0$/)
    expect(done.status).toMatchObject({ failed: 1 })
  })

  test("Ignore replaces disrupted pods without counting them", async () => {
    // given the first two pods are disrupted
    let nth = 0
    await using plane = await start(() => (++nth <= 2 ? { afterMs: 1000, exitCode: 137, conditions: ["DisruptionTarget"] } : { afterMs: 1000 }))
    await plane.client.create(Job, job({ ...policy({ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }), backoffLimit: 0 }))
    await plane.clock.advance(60_000)
    expect(nth).toBe(3)
    expect(conditions(await read(plane)).at(-1)).toEqual(["Complete", "True", "CompletionsReached"])
    expect((await read(plane)).status.failed ?? 0).toBe(0)
  })

  test("Count counts as if there were no policy, and NotIn matches the other codes", async () => {
    await using plane = await start(after(1, 3))
    await plane.client.create(Job, job({ ...policy({ action: "Count", onExitCodes: { containerName: "main", operator: "In", values: [3] } }, { action: "FailJob", onExitCodes: { operator: "NotIn", values: [7] } }), backoffLimit: 0 }))
    await plane.clock.advance(5000)
    expect(conditions(await read(plane)).at(-1)).toEqual(["Failed", "True", "BackoffLimitExceeded"])
  })

  test("FailIndex gives up an index at its first such failure", async () => {
    let tries = 0
    await using plane = await start((pod) => {
      if (indexOf(pod) !== "0") return { afterMs: 2000 }
      tries++
      return { afterMs: 1000, exitCode: 42 }
    })
    await plane.client.create(Job, job({
      ...policy({ action: "FailIndex", onExitCodes: { operator: "In", values: [42] } }), parallelism: 2, completions: 2, completionMode: "Indexed", backoffLimitPerIndex: 5,
    }))
    await plane.clock.advance(60_000)
    expect(tries).toBe(1)
    expect((await read(plane)).status).toMatchObject({ failedIndexes: "0", completedIndexes: "1" })
    expect(conditions(await read(plane)).at(-1)).toEqual(["Failed", "True", "FailedIndexes"])
  })
})

describe("podReplacementPolicy", () => {
  test.each([["TerminatingOrFailed", 1], ["Failed", 0]] as const)("%s: %p pods run while the deleted one is going", async (podReplacementPolicy, running) => {
    // given a pod that takes its time to end
    await using plane = await start(() => undefined, 20_000)
    const { client, clock } = plane
    await client.create(Job, job({ podReplacementPolicy }))
    await clock.settle()
    // when it is deleted
    const [pod] = await pods(plane)
    await client.delete(Pod, pod!.metadata)
    await clock.advance(15_000)
    // then
    expect(await active(plane)).toHaveLength(running)
    expect((await read(plane)).status).toMatchObject({ terminating: 1 })
    await clock.advance(30_000)
    expect(await active(plane)).toHaveLength(1)
    expect((await read(plane)).status).toMatchObject({ failed: 1, terminating: 0, active: 1 })
  })
})
