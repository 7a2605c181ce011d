import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../../pkg/clock/random.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { createLogger, silent } from "../../../pkg/log/log.ts"
import { verifyCertificate } from "../../../pkg/pki/verify.ts"
import { keepCertificates } from "./renewal.ts"
import { openServingFiles, type ServingFiles } from "./serving.ts"

const DAY_MS = 86_400_000

/** Reads the certificates and keys of a server below `dir`, or makes them. */
const filesIn = (dir: string, clock: Clock): ServingFiles =>
  openServingFiles({
    dir,
    advertiseAddress: "192.0.2.1",
    tlsSans: [],
    serviceAddresses: ["10.43.0.1"],
    clusterDomain: "cluster.local",
    now: () => clock.now(),
    random: seededRandom(1),
  })

test("certificates are renewed before they expire, and a failed renewal is tried again", async () => {
  // given a server's files, and a disk that fails once
  const dir = mkdtempSync(join(tmpdir(), "k3ts-renewal-"))
  const clock = new VirtualClock(Date.parse("2026-01-01T00:00:00Z"))
  const lines: string[] = []
  const log = createLogger({ clock, format: "text", level: "info", write: (line) => void lines.push(line) })
  const open = () => filesIn(dir, clock)
  const first = open()
  let current: ServingFiles = first
  let failures = 1
  const stop = keepCertificates({
    clock,
    log,
    files: first,
    reopen() {
      if (failures-- > 0) throw new Error("disk full")
      return open()
    },
    renewed: (files) => (current = files),
  })

  // when half a year has gone by, then nothing has changed
  await clock.advance(180 * DAY_MS)
  expect(current.serving.certPem).toBe(first.serving.certPem)

  // when the year is nearly over, then they are new and hold for longer
  await clock.advance(180 * DAY_MS)
  expect(current.serving.certPem).not.toBe(first.serving.certPem)
  expect(current.admin.certPem).not.toBe(first.admin.certPem)
  expect(
    verifyCertificate(current.serving.certPem, first.pki.authorities["server-ca"].certPem, {
      now: clock.now() + 100 * DAY_MS,
    }).ok,
  ).toBe(true)
  expect(lines.map((line) => line.split(" ").slice(1, 4).filter(Boolean).join(" "))).toEqual([
    "ERROR Failed to",
    "INFO Renewed",
  ])
  stop()
  rmSync(dir, { recursive: true })
})

test(
  "certificates are renewed within the hour when the clock was set forward past their end, and stay when it is " +
    "set back",
  async () => {
    const dir = mkdtempSync(join(tmpdir(), "k3ts-renewal-"))
    const time = new VirtualClock(Date.parse("2026-01-01T00:00:00Z"))
    let set = 0
    const clock: Clock = {
      now: () => time.now() + set,
      monotonic: () => time.monotonic(),
      setTimeout: (run, ms) => time.setTimeout(run, ms),
      afterTurn: (run) => time.afterTurn(run),
      atRest: (run) => time.atRest(run),
    }
    const open = () => filesIn(dir, clock)
    const first = open()
    let current: ServingFiles = first
    const stop = keepCertificates({
      clock,
      log: silent,
      files: first,
      reopen: open,
      renewed: (files) => (current = files),
    })

    // when the clock is set back by a day
    set = -DAY_MS
    await time.advance(2 * DAY_MS)
    expect(current).toBe(first)

    // when it is set forward by two years
    set = 2 * 365 * DAY_MS
    await time.advance(3_600_000)
    expect(
      verifyCertificate(current.serving.certPem, current.pki.authorities["server-ca"].certPem, {
        now: clock.now() + 100 * DAY_MS,
      }).ok,
    ).toBe(true)
    stop()
    rmSync(dir, { recursive: true })
  },
)
