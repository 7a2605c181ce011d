import { expect, test } from "bun:test"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { createLogger } from "../../pkg/log/log.ts"
import { LogLines } from "./log-lines.ts"

function reader() {
  const clock = new VirtualClock(0)
  const told: string[] = []
  const log = createLogger({ clock, format: "json", level: "info", write: (line) => told.push(line) })
  const lines = new LogLines(log, clock)
  const take = (level: string, msg: string, fields: object = {}) =>
    lines.take(JSON.stringify({ level, msg, ...fields }))
  return { clock, lines, take, told: () => told.map((line) => (JSON.parse(line) as { msg: string }).msg) }
}

test("warnings and errors of etcd are logged once a minute each; its routine messages are not", async () => {
  const { clock, take, told } = reader()
  take("info", "started")
  take("warn", "health check for peer failed")
  take("warn", "disk is slow")
  take("warn", "disk is slow")
  await clock.advance(61_000)
  take("warn", "disk is slow")
  take("error", "cannot write")
  expect(told()).toEqual(["disk is slow", "disk is slow", "cannot write"])
})

test("the last error of etcd is returned with its cause", () => {
  const { lines, take } = reader()
  take("fatal", "discovery failed", { error: "listen tcp 192.0.2.1:2380: bind: address already in use" })
  expect(lines.complaint).toBe("discovery failed: listen tcp 192.0.2.1:2380: bind: address already in use")
  expect(lines.saysRemoved).toBe(false)
})

test("a member that was removed from its cluster is recognized by the log of its etcd", () => {
  const { lines, take } = reader()
  take("warn", "data-dir used by this member must be removed")
  expect(lines.saysRemoved).toBe(true)
})

test("lines that are not of etcd's log format are ignored", () => {
  const { lines } = reader()
  for (const line of ["", "{", "panic: out of memory", "null", '{"level":1}']) lines.take(line)
  expect(lines.complaint).toBe("panic: out of memory")
})
