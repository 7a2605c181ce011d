import { expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { createLogger, type Logger } from "./log.ts"

const lines = [
  {
    title: "a line with its fields, and those of its logger",
    log: (log: Logger) => log.child({ node: "vm" }).info("Bound pod", { pod: "a", missing: undefined }),
    json: { ts: 1500, level: "info", msg: "Bound pod", v: 0, node: "vm", pod: "a" },
    text: "1970-01-01T00:00:01.500Z INFO  Bound pod node=vm pod=a",
  },
  {
    title: "an error, with upstream's field name and without verbosity",
    log: (log: Logger) => log.error("Failed to bind", { error: new Error("no node") }),
    json: { ts: 1500, level: "error", msg: "Failed to bind", err: "no node" },
    text: '1970-01-01T00:00:01.500Z ERROR Failed to bind error="no node"',
  },
  {
    title: "debug lines, with Kubernetes' verbosity for details",
    log: (log: Logger) => log.debug("Looked"),
    json: { ts: 1500, level: "debug", msg: "Looked", v: 4 },
    text: "1970-01-01T00:00:01.500Z DEBUG Looked",
  },
  {
    title: "a field with the name of a standard key, which keeps its value",
    log: (log: Logger) => log.warn("Odd", { ts: 1, level: "x", msg: "y", v: 9 }),
    json: { ts: 1500, level: "warn", msg: "Odd", v: 0 },
    text: "1970-01-01T00:00:01.500Z WARN  Odd ts=1 level=x msg=y v=9",
  },
]
test.each(lines)("the log has $title", ({ log, json, text }) => {
  const written: string[] = []
  for (const format of ["json", "text"] as const)
    log(createLogger({ clock: new VirtualClock(1500), format, level: "debug", write: (line) => written.push(line) }))
  expect([JSON.parse(written[0]!), written[1]]).toEqual([json, text])
})
