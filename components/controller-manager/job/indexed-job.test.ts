import { describe, expect, test } from "bun:test"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { NAME, job, start, ending, completionIndex, pods, created, active, read, conditions } from "./job.fixtures.ts"

const indexOf = ({ metadata }: Pod): string | undefined =>
  metadata.annotations?.["batch.kubernetes.io/job-completion-index"]
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
    "while it $title it keeps the last failed pod of an index, so that the next pod continues its count of failures",
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
    ["a number of indexes of a set", [{ succeededIndexes: "0-3", succeededCount: 2 }], "Matched rules at index 0"],
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
