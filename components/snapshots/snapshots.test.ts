import { afterEach, beforeEach, expect, test } from "bun:test"
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../../pkg/clock/real.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { parseCron, type CronSchedule } from "../../pkg/cron/schedule.ts"
import { createLogger } from "../../pkg/log/log.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { SnapshotFolder } from "../../pkg/snapshot/folder.ts"
import { openS3 } from "../../pkg/snapshot/open-s3.ts"
import { askForSnapshot } from "../../pkg/snapshot/socket.ts"
import { createSnapshots, type ScheduledConfig } from "./snapshots.ts"

const START = Date.UTC(2026, 0, 1, 23, 30)
const HOUR = 3_600_000
let root = ""
beforeEach(() => (root = mkdtempSync(join(tmpdir(), "k3ts-scheduled-"))))
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** A component that takes empty snapshots at 00:00 and 12:00 UTC. */
function given(changes: Partial<ScheduledConfig> = {}) {
  const clock = new VirtualClock(START)
  const metrics = new Registry()
  const failures: string[] = []
  let ended = (): void => undefined
  const log = createLogger({
    clock,
    format: "text",
    level: "info",
    write: (line) => void (/(Saved|Failed to save) a snapshot/.test(line) && ended()),
  })
  const socket = join(root, "run/snapshot.sock")
  const component = createSnapshots(
    { clock, log },
    {
      node: "n",
      socket,
      scheduled: {
        schedule: { cron: parseCron("0 */12 * * *") as CronSchedule, zone: "UTC" },
        folder: new SnapshotFolder(join(root, "snapshots")),
        base: "daily",
        retention: 2,
        compression: "zstd",
        ...changes,
      },
      metrics,
      contents: () => ({
        info: { revision: 1, time: clock.now(), version: "1", node: "n", cluster: "u" },
        files: [],
        objects: [],
      }),
      failed: (reason) => failures.push(reason),
    },
  )
  return {
    component,
    socket,
    metrics,
    failures,
    names: () => readdirSync(join(root, "snapshots")).sort(),
    advance: (hours: number) => clock.advance(hours * HOUR),
    /** Moves the time, in which one snapshot is due, and waits until it is saved or has failed. */
    async until(hours: number) {
      const done = new Promise<void>((resolve) => (ended = resolve))
      await clock.advance(hours * HOUR)
      await done
    },
  }
}
const nameAt = (hours: number) => `daily-n-${(START + hours * HOUR) / 1000}.zst`

test("a snapshot is taken at each scheduled time, and the newest ones are kept", async () => {
  const { component, until, names, metrics } = given()
  await component.start(new AbortController().signal)

  await until(0.5)
  expect(names()).toEqual([nameAt(0.5)])
  await until(12)
  await until(12)
  await component.stop()

  expect(names()).toEqual([nameAt(12.5), nameAt(24.5)])
  const text = metrics.text()
  expect(text).toContain('k3ts_snapshot_saves_total{outcome="success"} 3')
  expect(text).toContain(`k3ts_snapshot_last_success_timestamp_seconds ${(START + 24.5 * HOUR) / 1000}`)

  // and a later start knows of the newest one
  const later = given()
  await later.component.start(new AbortController().signal)
  await later.component.stop()
  expect(later.metrics.text()).toContain(`last_success_timestamp_seconds ${(START + 24.5 * HOUR) / 1000}`)
})

test("a snapshot that fails is reported with its reason, leaves no file, and the next one is taken", async () => {
  // given a file where the folder of snapshots should be
  const { component, until, names, metrics, failures } = given()
  writeFileSync(join(root, "snapshots"), "")
  await component.start(new AbortController().signal)
  await until(0.5)
  expect(failures).toEqual([expect.stringContaining(`Cannot save ${root}/snapshots/${nameAt(0.5)}`)])
  expect(metrics.text()).toContain('k3ts_snapshot_saves_total{outcome="failure"} 1')

  // when that is mended
  rmSync(join(root, "snapshots"))
  await until(12)
  await component.stop()
  expect(names()).toEqual([nameAt(12.5)])
})

test("the snapshot in the folder is kept if copying it to S3 fails", async () => {
  const s3 = { open: () => Promise.reject(new Error("no way to S3")), retention: 1 }
  const { component, until, names, failures } = given({ s3 })
  await component.start(new AbortController().signal)
  await until(0.5)
  await component.stop()
  expect([names(), failures]).toEqual([[nameAt(0.5)], ["no way to S3"]])
})

test("a server that stops does not wait for S3, and reports no failure", async () => {
  // given storage that takes an upload and does not answer
  const asked = Promise.withResolvers<void>()
  const storage = createServer(() => asked.resolve())
  await new Promise<void>((resolve) => storage.listen(0, "127.0.0.1", resolve))
  const config = {
    endpoint: `127.0.0.1:${(storage.address() as AddressInfo).port}`,
    region: "us-east-1",
    bucket: "bucket",
    folder: "",
    accessKey: "a",
    secretKey: "b",
    insecure: true,
    skipVerify: false,
    timeoutMs: 300_000,
  }
  const { component, advance, names, failures } = given({
    s3: { open: () => openS3(config, realClock), retention: 1 },
  })
  await component.start(new AbortController().signal)
  await advance(0.5)
  await asked.promise

  // when the server stops, then it does so at once, and the snapshot is in the folder
  await component.stop()
  storage.close()
  expect([names(), failures]).toEqual([[nameAt(0.5)], []])
})

test("the socket sends a snapshot to two clients at once, and refuses a third one for the moment", async () => {
  const { component, socket } = given()
  await component.start(new AbortController().signal)
  chmodSync(socket, 0o600)
  const ask = () => askForSnapshot(socket, { compression: "none" })

  // given two clients, of whom one has begun and one has connected
  const two = [ask(), ask()]
  const first = await Promise.all(two.map((parts) => parts.next()))
  expect(first.map(({ done }) => done)).toEqual([false, false])

  // then a third one is refused, and served when one of them has gone
  const third = await ask()
    .next()
    .catch((err: unknown) => String(err))
  await Promise.all(two.map((parts) => parts.return(undefined)))
  await component.stop()
  expect(third).toContain("2 snapshots are in progress")
})
