/** Jobs whose pods end and fail, with real containers. After test/e2e/apps/job.go. */
import { expect } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sh } from "../../harness/cluster.ts"
import type { Loose } from "../cluster.ts"
import { condition } from "../workloads/workload-cluster.ts"
import { type PodInput, type TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

const jobs = (ns: TestNamespace) => `${ns.at("batch/v1")}/jobs`
const podsOf = (ns: TestNamespace, app = "app") => `${ns.path}/pods?labelSelector=app%3D${app}`
const template = (ns: TestNamespace, pod: PodInput, app = "app") => {
  const { spec } = ns.podOf("", pod)
  return { metadata: { labels: { app } }, spec }
}

/** Creates a Job of busybox containers that run a script. */
const createJob = (ns: TestNamespace, script: string, spec: object, pod: PodInput = {}) =>
  ns.cluster.post(jobs(ns), {
    metadata: { name: "job", labels: { "e2e-job-label": "job" } },
    spec: {
      parallelism: 2,
      completions: 4,
      backoffLimit: 6,
      ...spec,
      template: template(ns, { ...pod, containers: [{ command: sh(script), ...pod.containers?.[0] }] }),
    },
  })
const untilJob = (ns: TestNamespace, wanted: (job: Loose) => boolean) =>
  ns.cluster.until(`${jobs(ns)}/job`, (job) => job !== undefined && wanted(job))
/** Returns the Job when it is Complete for this reason. */
const completed = async (ns: TestNamespace, reason: string, count: number) => {
  const job = await untilJob(ns, (found) => condition(found, "Complete")?.status === "True")
  expect([condition(job, "Complete")?.reason, job.status["succeeded"]]).toEqual([reason, count])
  return job
}
const failed = (ns: TestNamespace) => untilJob(ns, (job) => condition(job, "Failed")?.status === "True")

const FAIL_ODD = "[ $((JOB_COMPLETION_INDEX % 2)) -eq 0 ]"
const indexed = { completionMode: "Indexed" }
const idle = { active: undefined, ready: 0, terminating: 0 }
const nothingLeft = ({ status }: Loose) => ({
  active: status["active"],
  ready: status["ready"],
  terminating: status["terminating"],
})

/** Creates a folder of the machine that the pods of a Job share. */
async function withSharedFolder(body: (pod: PodInput) => Promise<void>): Promise<void> {
  const path = mkdtempSync(join(tmpdir(), "k3ts-job-"))
  try {
    await body({
      volumes: [{ name: "data", hostPath: { path } }],
      containers: [{ volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    })
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
}

describeStandIns("jobs", (standIn) => {
  standIn("Job should allow to use the pod failure policy on exit code to fail the job early", async (ns) => {
    await createJob(ns, "exit 1", {
      podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [1] } }] },
    })
    const job = await failed(ns)
    expect(condition(job, "Failed")?.reason).toBe("PodFailurePolicy")
  })

  standIn(
    "Job should allow to use a pod failure policy to ignore failure matching on DisruptionTarget condition",
    (ns) =>
      withSharedFolder(async (pod) => {
        // given pods that keep running the first time, and succeed the second time
        const marker = "/data/$JOB_COMPLETION_INDEX"
        await createJob(
          ns,
          `trap 'exit 143' TERM; [ -r ${marker} ] && exit 0; touch ${marker}; sleep 3600 & wait $!`,
          {
            ...indexed,
            parallelism: 3,
            completions: 3,
            backoffLimit: 2,
            podFailurePolicy: {
              rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }],
            },
          },
          {
            ...pod,
            containers: [
              { ...pod.containers![0], readinessProbe: { exec: { command: sh(`cat ${marker}`) }, periodSeconds: 1 } },
            ],
          },
        )
        await untilJob(ns, ({ status }) => status["ready"] === 3)
        // when all of them are evicted, then these failures are ignored
        const pods = (await ns.cluster.get(podsOf(ns))).items
        expect(pods).toHaveLength(3)
        await Promise.all(
          pods.map(async ({ metadata: { name } }) => {
            const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } }
            expect((await ns.cluster.send("POST", `${ns.path}/pods/${name}/eviction`, { body })).code).toBe(201)
            await ns.untilPod(name, (found) => found === undefined)
          }),
        )
        await completed(ns, "CompletionsReached", 3)
      }),
  )

  standIn("Job should create pods for an Indexed job with completion indexes and specified hostname", async (ns) => {
    await createJob(ns, "exit 0", indexed)
    await completed(ns, "CompletionsReached", 4)
    const pods = (await ns.cluster.get(podsOf(ns))).items.filter(({ status }) => status.phase === "Succeeded")
    const index = ({ metadata }: Loose) => metadata.annotations?.["batch.kubernetes.io/job-completion-index"]
    expect(new Set(pods.map(index))).toEqual(new Set(["0", "1", "2", "3"]))
    for (const pod of pods) expect(pod.spec["hostname"]).toBe(`job-${index(pod)}`)
  })

  standIn("Job with successPolicy should succeeded when all indexes succeeded", async (ns) => {
    await createJob(ns, "exit 0", { ...indexed, completions: 2, successPolicy: { rules: [{ succeededCount: 2 }] } })
    const job = await completed(ns, "SuccessPolicy", 2)
    expect(condition(job, "SuccessCriteriaMet")).toMatchObject({ status: "True", reason: "SuccessPolicy" })
    expect([nothingLeft(job), job.status["failed"]]).toEqual([idle, undefined])
  })

  for (const [title, rule] of [
    [
      "Job with successPolicy succeededIndexes rule should succeeded even when some indexes remain pending",
      { succeededIndexes: "0" },
    ],
    [
      "Job with successPolicy succeededCount rule should succeeded even when some indexes remain pending",
      { succeededCount: 1 },
    ],
  ] as const)
    standIn(title, async (ns) => {
      await createJob(ns, FAIL_ODD, { ...indexed, completions: 5, successPolicy: { rules: [rule] } })
      const job = await completed(ns, "SuccessPolicy", 1)
      expect(condition(job, "SuccessCriteriaMet")).toMatchObject({ status: "True", reason: "SuccessPolicy" })
      expect([nothingLeft(job), job.status["completedIndexes"]]).toEqual([idle, "0"])
    })

  standIn("Job should execute all indexes despite some failing when using backoffLimitPerIndex", async (ns) => {
    await createJob(ns, FAIL_ODD, { ...indexed, backoffLimit: undefined, backoffLimitPerIndex: 1 })
    const { status } = await failed(ns)
    expect([status["failedIndexes"], status["completedIndexes"]]).toEqual(["1,3", "0,2"])
    // the two odd indexes fail twice each, and the two even indexes succeed
    expect([status["failed"], status["succeeded"]]).toEqual([4, 2])
  })

  standIn(
    "Job should terminate job execution when the number of failed indexes exceeds maxFailedIndexes",
    async (ns) => {
      // index 0 fails at once, and then one after the other starts
      await createJob(ns, "exit 1", {
        ...indexed,
        parallelism: 1,
        completions: 10,
        backoffLimit: undefined,
        backoffLimitPerIndex: 0,
        maxFailedIndexes: 0,
      })
      const { status } = await failed(ns)
      expect([status["failedIndexes"], status["completedIndexes"] ?? ""]).toEqual(["0", ""])
      expect([status["failed"], status["succeeded"]]).toEqual([1, undefined])
    },
  )

  standIn("Job should mark indexes as failed when the FailIndex action is matched in podFailurePolicy", async (ns) => {
    await createJob(ns, FAIL_ODD, {
      ...indexed,
      completions: 2,
      backoffLimit: undefined,
      backoffLimitPerIndex: 1,
      podFailurePolicy: { rules: [{ action: "FailIndex", onExitCodes: { operator: "NotIn", values: [0] } }] },
    })
    const { status } = await failed(ns)
    expect([status["failedIndexes"], status["completedIndexes"]]).toEqual(["1", "0"])
    expect([status["failed"], status["succeeded"]]).toEqual([1, 1])
  })

  standIn("Job should run a job to completion when tasks sometimes fail and are locally restarted", async (ns) => {
    await createJob(
      ns,
      "[ -r /data/foo ] || { touch /data/foo; exit 1; }",
      { backoffLimit: 100 },
      {
        restartPolicy: "OnFailure",
        volumes: [{ name: "data", emptyDir: {} }],
        containers: [{ volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      },
    )
    await completed(ns, "CompletionsReached", 4)
  })

  standIn("Job should manage the lifecycle of a job", async (ns) => {
    const selector = "labelSelector=e2e-job-label%3Djob"
    const watch = await ns.cluster.watch(`${jobs(ns)}?${selector}`)
    const made = await createJob(ns, "exit 0", { suspend: true })
    const patched = await ns.cluster.patch(`${jobs(ns)}/job`, "strategic", { metadata: { labels: { job: "patched" } } })
    expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion))
    await watch.until((events) =>
      events.some(({ type, object }) => type === "MODIFIED" && object.metadata.labels?.["job"] === "patched"),
    )
    await ns.cluster.patch(`${jobs(ns)}/job`, "merge", {
      metadata: { annotations: { updated: "true" } },
      spec: { suspend: false },
    })
    await watch.until((events) =>
      events.some(({ type, object }) => type === "MODIFIED" && object.metadata.annotations?.["updated"] === "true"),
    )
    const inNamespace = async () =>
      (await ns.cluster.get(`/apis/batch/v1/jobs?${selector}`)).items.filter(
        ({ metadata }) => metadata.namespace === ns.name,
      )
    expect(await inNamespace()).toHaveLength(1)
    await completed(ns, "CompletionsReached", 4)
    await ns.cluster.delete(`${jobs(ns)}?${selector}`, { propagationPolicy: "Background" })
    await watch.until((events) => events.at(-1)?.type === "DELETED")
    watch.close()
    expect(await inNamespace()).toEqual([])
  })
})
