import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findServer, lockDataDir, lockNode } from "./pid-file.ts"

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-lock-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

test("a data directory is locked until its server releases it", () => {
  const dir = join(folder, "one")
  const lock = lockDataDir(dir)
  expect(findServer(dir)).toEqual({ pid: process.pid, listens: undefined, isEnding: false })
  lock.setListening({ host: "127.0.0.5", port: 7443 })
  expect(findServer(dir)).toEqual({ pid: process.pid, listens: { host: "127.0.0.5", port: 7443 }, isEnding: false })
  expect(() => lockDataDir(dir)).toThrow(
    `cannot use ${dir}: another k3ts server runs on it (pid ${process.pid}); stop that one, or choose another ` +
      "--data-dir",
  )
  lock.release()
  expect(findServer(dir)).toBeUndefined()
  lockDataDir(dir).release()
})

test("a second server with a node on the same machine is refused", () => {
  const path = join(folder, "run/k3ts.pid")
  const lock = lockNode(path)
  expect(() => lockNode(path)).toThrow(
    `cannot run a node: another k3ts server runs one on this machine (pid ${process.pid}); stop that one, or ` +
      "start this one with --disable-agent",
  )
  lock.release()
  lockNode(path).release()
})

test.each([
  ["of a process that has ended", "999999999\n1\n"],
  ["whose pid another process has now", `${process.pid}\n1\n6443\n`],
  ["that is empty", ""],
])("a pid file %s is no lock", (_, text) => {
  const dir = mkdtempSync(join(folder, "stale-"))
  mkdirSync(join(dir, "server"))
  writeFileSync(join(dir, "server/k3ts.pid"), text)
  expect(findServer(dir)).toBeUndefined()
  lockDataDir(dir).release()
})

/** Without the second lock, two starts got the data directory within the first of these rounds. */
const ROUNDS = 200

test("of several concurrent starts after a killed server, exactly one gets the data directory", async () => {
  const dir = join(folder, "raced")
  const file = join(dir, "server/k3ts.pid")
  mkdirSync(join(dir, "server"), { recursive: true })
  const step = new Int32Array(new SharedArrayBuffer(4))
  const go = (to: number) => {
    Atomics.store(step, 0, to)
    Atomics.notify(step, 0)
  }
  // Each lock is that of a process that runs as long as the test.
  const starters = [process.pid, process.ppid, 1].map(
    (pid) => new Worker(new URL("pid-file-race.fixtures.ts", import.meta.url).href, { argv: [dir, `${pid}`] }),
  )
  const answers = () =>
    Promise.all(
      starters.map((one) => new Promise<boolean>((resolve) => (one.onmessage = ({ data }) => resolve(data === true)))),
    )
  const ready = answers()
  for (const one of starters) one.postMessage(step)
  await ready
  const winners: number[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    writeFileSync(file, "999999999\n1\n")
    const ended = answers()
    go(round)
    winners.push((await ended).filter(Boolean).length)
    rmSync(file)
  }
  go(-1)
  expect(new Set(winners)).toEqual(new Set([1]))
})

test("a takeover that was killed half way does not block others, and one that still runs is named in the error", () => {
  const dir = mkdtempSync(join(folder, "takeover-"))
  const file = join(dir, "server/k3ts.pid")
  mkdirSync(join(dir, "server"))
  writeFileSync(file, "999999999\n1\n")
  const running = lockNode(`${file}.takeover`, process.ppid)
  expect(() => lockDataDir(dir)).toThrow(
    `cannot take over ${file}: another k3ts starts at the same time (pid ${process.ppid}); start this one again ` +
      "when that one has ended",
  )
  running.release()
  writeFileSync(`${file}.takeover`, "999999999\n1\n")
  lockDataDir(dir).release()
  expect(readdirSync(join(dir, "server"))).toEqual([])
})
