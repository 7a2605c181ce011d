import { describe, expect, test } from "bun:test"
import { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Event } from "../../../pkg/api/core/v1/event.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"
import { finishPods, type Ending } from "../../../pkg/testing/finishing-pods.ts"
import { addNode } from "../../../pkg/testing/pods.ts"

const NAME = { name: "tick", namespace: "default" }
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const cron = (schedule: string, spec: object = {}) => ({
  metadata: NAME,
  spec: { schedule, ...spec, jobTemplate: { metadata: { labels: { from: "cron" } }, spec: { backoffLimit: 0, template: { spec: { restartPolicy: "Never" as const, containers: [{ name: "main", image: "busybox" }] } } } } },
})

async function start(endingOf: (pod: Pod) => Ending | undefined, startTime = "2026-01-01T00:00:00Z"): Promise<ControlPlane & { readonly started: string[] }> {
  const plane = await startControlPlane({ startTime })
  await addNode(plane, "node-0")
  finishPods(plane, endingOf)
  const started: string[] = []
  plane.informers.of(Job).on({ added: ({ metadata }) => started.push(metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"] ?? "by hand") })
  return Object.assign(plane, { started })
}

const read = ({ client }: ControlPlane): Promise<CronJob> => client.get(CronJob, NAME)
const jobs = async ({ client }: ControlPlane): Promise<readonly string[]> => (await client.list(Job, { namespace: "default" })).items.map(({ metadata }) => metadata.name!).toSorted()
const reasons = async ({ client }: ControlPlane): Promise<readonly string[]> =>
  (await client.list(Event, { namespace: "default" })).items.filter(({ involvedObject }) => involvedObject.kind === "CronJob").map(({ reason }) => reason!)

describe("CronJob", () => {
  test("runs at each of its times, names Jobs after them and keeps the newest few", async () => {
    // given
    await using plane = await start(() => ({ afterMs: 20_000 }))
    await plane.client.create(CronJob, cron("0 */6 * * *"))
    // when a day has passed
    await plane.clock.advance(24 * HOUR + MINUTE)
    // then
    expect(plane.started).toEqual(["2026-01-01T06:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T18:00:00Z", "2026-01-02T00:00:00Z"])
    const minutes = (time: string): number => Date.parse(time) / MINUTE
    expect(await jobs(plane)).toEqual(["2026-01-01T12:00Z", "2026-01-01T18:00Z", "2026-01-02T00:00Z"].map((time) => `tick-${minutes(time)}`))
    expect((await read(plane)).status).toEqual({ lastScheduleTime: "2026-01-02T00:00:00Z", lastSuccessfulTime: "2026-01-02T00:00:20Z" })
    const job = await plane.client.get(Job, { name: `tick-${minutes("2026-01-02T00:00Z")}`, namespace: "default" })
    expect(job.metadata).toMatchObject({ labels: { from: "cron" }, ownerReferences: [{ kind: "CronJob", name: "tick", controller: true }] })
    expect(await reasons(plane)).toEqual(expect.arrayContaining(["SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"]))
  })

  test("shows in its status what runs", async () => {
    await using plane = await start(() => ({ afterMs: 90_000 }))
    await plane.client.create(CronJob, cron("* * * * *"))
    await plane.clock.advance(2 * MINUTE)
    expect((await read(plane)).status.active?.map(({ kind, name }) => [kind, name])).toEqual((await jobs(plane)).map((name) => ["Job", name]))
    expect(plane.started).toHaveLength(2)
  })

  test("runs once a day in its zone, across changes of the clocks", async () => {
    await using plane = await start(() => ({ afterMs: 1000 }), "2026-03-28T02:30:00Z")
    await plane.client.create(CronJob, cron("0 4 * * *", { timeZone: "Europe/Berlin" }))
    await plane.clock.advance(24 * HOUR)
    expect(plane.started).toEqual(["2026-03-28T04:00:00+01:00", "2026-03-29T04:00:00+02:00"])
  })

  test("with Forbid starts the missed Job when the one before has ended", async () => {
    await using plane = await start(() => ({ afterMs: 90_000 }))
    await plane.client.create(CronJob, cron("* * * * *", { concurrencyPolicy: "Forbid", successfulJobsHistoryLimit: 10 }))
    await plane.clock.advance(5 * MINUTE)
    // then Jobs follow one another without a pause
    const begun = (await plane.client.list(Job)).items.map(({ status }) => status.startTime ?? "").toSorted((a, b) => (a < b ? -1 : 1))
    expect(begun).toEqual(["2026-01-01T00:01:00Z", "2026-01-01T00:02:30Z", "2026-01-01T00:04:00Z"])
    expect(await reasons(plane)).toContain("JobAlreadyActive")
  })

  test("with Replace ends the Job before", async () => {
    await using plane = await start(() => undefined)
    await plane.client.create(CronJob, cron("* * * * *", { concurrencyPolicy: "Replace" }))
    await plane.clock.advance(3 * MINUTE + 1000)
    expect(plane.started).toHaveLength(3)
    expect(await jobs(plane)).toHaveLength(1)
    expect((await read(plane)).status.active).toHaveLength(1)
  })

  test("suspended starts nothing; resumed it makes up for the newest missed time only, if that is not too late", async () => {
    for (const [startingDeadlineSeconds, expected] of [[null, ["2026-01-01T10:00:00Z"]], [60, []], [3000, ["2026-01-01T10:00:00Z"]]] as const) {
      // given
      await using plane = await start(() => ({ afterMs: 1000 }))
      await plane.client.create(CronJob, cron("0 * * * *", { suspend: true, startingDeadlineSeconds }))
      await plane.clock.advance(10.5 * HOUR)
      expect(plane.started).toEqual([])
      // when
      await plane.client.patch(CronJob, NAME, { type: "merge", body: { spec: { suspend: false } } })
      await plane.clock.settle()
      // then
      expect(plane.started).toEqual([...expected])
    }
  })

  test("warns when more than a hundred times have been missed, and goes on", async () => {
    await using plane = await start(() => ({ afterMs: 1000 }))
    await plane.client.create(CronJob, cron("* * * * *", { suspend: true }))
    await plane.clock.advance(102 * MINUTE)
    await plane.client.patch(CronJob, NAME, { type: "merge", body: { spec: { suspend: false } } })
    await plane.clock.settle()
    expect(plane.started).toEqual(["2026-01-01T01:42:00Z"])
    expect(await reasons(plane)).toContain("TooManyMissedTimes")
  })

  test("follows a new schedule from its coming on", async () => {
    await using plane = await start(() => ({ afterMs: 1000 }))
    await plane.client.create(CronJob, cron("0 0 * * *"))
    await plane.clock.advance(90 * MINUTE)
    await plane.client.patch(CronJob, NAME, { type: "merge", body: { spec: { schedule: "0 * * * *" } } })
    await plane.clock.advance(31 * MINUTE)
    expect(plane.started).toEqual(["2026-01-01T02:00:00Z"])
  })

  test("keeps failed Jobs apart from those that succeeded", async () => {
    let nth = 0
    await using plane = await start(() => ({ afterMs: 1000, exitCode: nth++ % 2 }))
    await plane.client.create(CronJob, cron("* * * * *", { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 2 }))
    await plane.clock.advance(8 * MINUTE + 30_000)
    const left = (await plane.client.list(Job)).items
    expect(left).toHaveLength(2)
    expect(left.every(({ status }) => status.failed === 1)).toBe(true)
  })

  test("leaves Jobs started by hand in peace, and takes its own along when deleted", async () => {
    await using plane = await start(() => undefined)
    await plane.client.create(CronJob, cron("* * * * *"))
    await plane.client.create(Job, { metadata: { name: "other", namespace: "default" }, spec: cron("").spec.jobTemplate.spec })
    await plane.clock.advance(MINUTE)
    expect(await jobs(plane)).toHaveLength(2)
    await plane.client.delete(CronJob, NAME, { propagationPolicy: "Background" })
    await plane.clock.advance(5 * MINUTE)
    expect(await jobs(plane)).toEqual(["other"])
  })

  test("keeps the beat of @every", async () => {
    await using plane = await start(() => ({ afterMs: 1000 }), "2026-01-01T00:00:07Z")
    await plane.client.create(CronJob, cron("@every 90m"))
    await plane.clock.advance(5 * HOUR)
    expect(plane.started).toEqual(["2026-01-01T01:30:07Z", "2026-01-01T03:00:07Z", "2026-01-01T04:30:07Z"])
  })
})
