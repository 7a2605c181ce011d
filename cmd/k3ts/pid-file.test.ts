import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findServer, lockDataDir, lockNode } from "./pid-file.ts"

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-lock-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

test("a data directory is one server's until it lets go", () => {
  const dir = join(folder, "one")
  const lock = lockDataDir(dir)
  expect(findServer(dir)).toEqual({ pid: process.pid, listens: undefined })
  lock.setListening({ host: "127.0.0.5", port: 7443 })
  expect(findServer(dir)).toEqual({ pid: process.pid, listens: { host: "127.0.0.5", port: 7443 } })
  expect(() => lockDataDir(dir)).toThrow(
    `cannot use ${dir}: another k3ts server runs on it (pid ${process.pid}); stop that one, or choose another ` +
      "--data-dir",
  )
  lock.release()
  expect(findServer(dir)).toBeUndefined()
  lockDataDir(dir).release()
})

test("a machine runs one node", () => {
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
  ["whose process is gone", "999999999\n1\n"],
  ["whose pid another process got since", `${process.pid}\n1\n6443\n`],
  ["that is empty", ""],
])("a file %s is no lock", (_, text) => {
  const dir = mkdtempSync(join(folder, "stale-"))
  mkdirSync(join(dir, "server"))
  writeFileSync(join(dir, "server/k3ts.pid"), text)
  expect(findServer(dir)).toBeUndefined()
  lockDataDir(dir).release()
})
