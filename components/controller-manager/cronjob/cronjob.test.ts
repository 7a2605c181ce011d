import { describe, expect, test } from "bun:test"
import { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { startCluster, type Cluster, type ImageBehaviour } from "../../cluster/testing/testing.ts"

const NAME = { name: "tick", namespace: "default" }
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const cron = (schedule: string, spec: object = {}) => ({
  metadata: NAME,
  spec: {
    schedule,
    ...spec,
    jobTemplate: {
      metadata: { labels: { from: "cron" } },
      spec: {
        backoffLimit: 0,
        template: { spec: { restartPolicy: "Never" as const, containers: [{ name: "main", image: "work" }] } },
      },
    },
  },
})

/** Starts a cluster with one node, whose image behaves as `work` says. */
const start = (work: ImageBehaviour, startTime = "2026-01-01T00:00:00Z") =>
  startCluster({ startTime, nodes: 1, images: { work } })

const read = (cluster: Cluster): Promise<CronJob> => cluster.get(CronJob, NAME)
const jobs = async (cluster: Cluster): Promise<readonly string[]> =>
  (await cluster.list(Job)).map(({ metadata }) => metadata.name!).toSorted()
/** The times for which Jobs were started, of all Jobs that there ever were. */
const started = (cluster: Cluster): readonly string[] =>
  cluster
    .history({ kind: "Job" })
    .filter(({ type }) => type === "create")
    .map(
      ({ object: { metadata } }) =>
        metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"] ?? "by hand",
    )
const reasons = async (cluster: Cluster): Promise<readonly string[]> =>
  (await cluster.list(Event))
    .filter(({ involvedObject }) => involvedObject.kind === "CronJob")
    .map(({ reason }) => reason!)

describe("CronJob", () => {
  test("creates a Job at each scheduled time, names it after the time and keeps the newest few", async () => {
    // given
    await using cluster = await start({ runsMs: 20_000 })
    await cluster.client.create(CronJob, cron("0 */6 * * *"))
    // when a day has passed
    await cluster.advance(24 * HOUR + MINUTE)
    // then
    expect(started(cluster)).toEqual([
      "2026-01-01T06:00:00Z",
      "2026-01-01T12:00:00Z",
      "2026-01-01T18:00:00Z",
      "2026-01-02T00:00:00Z",
    ])
    const minutes = (time: string): number => Date.parse(time) / MINUTE
    expect(await jobs(cluster)).toEqual(
      ["2026-01-01T12:00Z", "2026-01-01T18:00Z", "2026-01-02T00:00Z"].map((time) => `tick-${minutes(time)}`),
    )
    expect((await read(cluster)).status).toEqual({
      lastScheduleTime: "2026-01-02T00:00:00Z",
      lastSuccessfulTime: "2026-01-02T00:00:20Z",
    })
    const job = await cluster.client.get(Job, { name: `tick-${minutes("2026-01-02T00:00Z")}`, namespace: "default" })
    expect(job.metadata).toMatchObject({
      labels: { from: "cron" },
      ownerReferences: [{ kind: "CronJob", name: "tick", controller: true }],
    })
    expect(await reasons(cluster)).toEqual(
      expect.arrayContaining(["SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"]),
    )
  })

  test("for the 31st of February gets the Event InvalidSchedule, and runs once its schedule has a time", async () => {
    // given
    await using cluster = await start({ runsMs: 1000 })
    await cluster.client.create(CronJob, cron("0 0 31 2 *"))
    await cluster.advance(MINUTE)
    const told = (await cluster.list(Event)).filter(({ involvedObject }) => involvedObject.kind === "CronJob")
    expect(told.map(({ type, reason, message }) => [type, reason, message])).toEqual([
      [
        "Warning",
        "InvalidSchedule",
        "invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second",
      ],
    ])
    // when
    await cluster.client.patch(CronJob, NAME, { type: "merge", body: { spec: { schedule: "* * * * *" } } })
    await cluster.advance(MINUTE)
    // then
    expect(started(cluster)).toEqual(["2026-01-01T00:02:00Z"])
  })

  test("lists the active Jobs in its status", async () => {
    await using cluster = await start({ runsMs: 90_000 })
    await cluster.client.create(CronJob, cron("* * * * *"))
    await cluster.advance(2 * MINUTE)
    expect((await read(cluster)).status.active?.map(({ kind, name }) => [kind, name])).toEqual(
      (await jobs(cluster)).map((name) => ["Job", name]),
    )
    expect(started(cluster)).toHaveLength(2)
  })

  test("creates a Job once a day in its time zone, across changes of daylight saving time", async () => {
    await using cluster = await start({ runsMs: 1000 }, "2026-03-28T02:30:00Z")
    await cluster.client.create(CronJob, cron("0 4 * * *", { timeZone: "Europe/Berlin" }))
    await cluster.advance(24 * HOUR)
    expect(started(cluster)).toEqual(["2026-03-28T04:00:00+01:00", "2026-03-29T04:00:00+02:00"])
  })

  test("with Forbid starts the missed Job when the previous one has ended", async () => {
    await using cluster = await start({ runsMs: 90_000 })
    await cluster.client.create(
      CronJob,
      cron("* * * * *", { concurrencyPolicy: "Forbid", successfulJobsHistoryLimit: 10 }),
    )
    await cluster.advance(5 * MINUTE)
    // then Jobs follow one another without a pause
    const begun = (await cluster.list(Job))
      .map(({ status }) => status.startTime ?? "")
      .toSorted((a, b) => (a < b ? -1 : 1))
    expect(begun).toEqual(["2026-01-01T00:01:00Z", "2026-01-01T00:02:30Z", "2026-01-01T00:04:00Z"])
    expect(await reasons(cluster)).toContain("JobAlreadyActive")
  })

  test("with Replace deletes the previous Job", async () => {
    await using cluster = await start({})
    await cluster.client.create(CronJob, cron("* * * * *", { concurrencyPolicy: "Replace" }))
    await cluster.advance(3 * MINUTE + 1000)
    expect(started(cluster)).toHaveLength(3)
    expect(await jobs(cluster)).toHaveLength(1)
    expect((await read(cluster)).status.active).toHaveLength(1)
  })

  test("starts nothing when suspended, and when resumed only a Job for the latest missed time, if its deadline allows", async () => {
    for (const [startingDeadlineSeconds, expected] of [
      [null, ["2026-01-01T10:00:00Z"]],
      [60, []],
      [3000, ["2026-01-01T10:00:00Z"]],
    ] as const) {
      // given
      await using cluster = await start({ runsMs: 1000 })
      await cluster.client.create(CronJob, cron("0 * * * *", { suspend: true, startingDeadlineSeconds }))
      await cluster.advance(10.5 * HOUR)
      expect(started(cluster)).toEqual([])
      // when
      await cluster.client.patch(CronJob, NAME, { type: "merge", body: { spec: { suspend: false } } })
      await cluster.settle()
      // then
      expect(started(cluster)).toEqual([...expected])
    }
  })

  test("warns when more than a hundred times have been missed, and continues", async () => {
    await using cluster = await start({ runsMs: 1000 })
    await cluster.client.create(CronJob, cron("* * * * *", { suspend: true }))
    await cluster.advance(102 * MINUTE)
    await cluster.client.patch(CronJob, NAME, { type: "merge", body: { spec: { suspend: false } } })
    await cluster.settle()
    expect(started(cluster)).toEqual(["2026-01-01T01:42:00Z"])
    expect(await reasons(cluster)).toContain("TooManyMissedTimes")
  })

  test("applies a new schedule from its change on", async () => {
    await using cluster = await start({ runsMs: 1000 })
    await cluster.client.create(CronJob, cron("0 0 * * *"))
    await cluster.advance(90 * MINUTE)
    await cluster.client.patch(CronJob, NAME, { type: "merge", body: { spec: { schedule: "0 * * * *" } } })
    await cluster.advance(31 * MINUTE)
    expect(started(cluster)).toEqual(["2026-01-01T02:00:00Z"])
  })

  test("keeps failed and successful Jobs by separate limits", async () => {
    let nth = 0
    await using cluster = await start({ run: async (container) => (await container.sleep(1000), nth++ % 2) })
    await cluster.client.create(
      CronJob,
      cron("* * * * *", { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 2 }),
    )
    await cluster.advance(8 * MINUTE + 30_000)
    const left = await cluster.list(Job)
    expect(left).toHaveLength(2)
    expect(left.every(({ status }) => status.failed === 1)).toBe(true)
  })

  test("ignores Jobs that others created, and its own are deleted with it", async () => {
    await using cluster = await start({})
    await cluster.client.create(CronJob, cron("* * * * *"))
    await cluster.client.create(Job, {
      metadata: { name: "other", namespace: "default" },
      spec: cron("").spec.jobTemplate.spec,
    })
    await cluster.advance(MINUTE)
    expect(await jobs(cluster)).toHaveLength(2)
    await cluster.client.delete(CronJob, NAME, { propagationPolicy: "Background" })
    await cluster.advance(5 * MINUTE)
    expect(await jobs(cluster)).toEqual(["other"])
  })

  test("keeps the interval of @every", async () => {
    await using cluster = await start({ runsMs: 1000 }, "2026-01-01T00:00:07Z")
    await cluster.client.create(CronJob, cron("@every 90m"))
    await cluster.advance(5 * HOUR)
    expect(started(cluster)).toEqual(["2026-01-01T01:30:07Z", "2026-01-01T03:00:07Z", "2026-01-01T04:30:07Z"])
  })
})
