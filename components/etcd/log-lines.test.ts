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

test("warnings and errors of etcd come into the log, once a minute each; what is usual does not", async () => {
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

test("the last error of etcd is what it complains of, with what is behind it", () => {
  const { lines, take } = reader()
  take("fatal", "discovery failed", { error: "listen tcp 192.0.2.1:2380: bind: address already in use" })
  expect(lines.complaint).toBe("discovery failed: listen tcp 192.0.2.1:2380: bind: address already in use")
  expect(lines.saysRemoved).toBe(false)
})

test("a member that its cluster has removed is known by what its etcd says", () => {
  const { lines, take } = reader()
  take("warn", "data-dir used by this member must be removed")
  expect(lines.saysRemoved).toBe(true)
})

test("what is no line of etcd's log stops nothing", () => {
  const { lines } = reader()
  for (const line of ["", "{", "panic: out of memory", "null", '{"level":1}']) lines.take(line)
  expect(lines.complaint).toBe("panic: out of memory")
})
