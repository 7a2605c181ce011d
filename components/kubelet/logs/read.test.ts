import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { MemoryFiles } from "../runtime/simulated/machine/memory-files.ts"
import { readLog, type LogReadRequest } from "./read.ts"
import { parseLogLine } from "../runtime/log-line.ts"

const LOG = [
  "2026-01-01T00:00:01.000000001Z stdout F one",
  "2026-01-01T00:00:02.000000000Z stderr P tw",
  "2026-01-01T00:00:02.000000001Z stderr F o",
  "2026-01-01T00:00:03.000000000Z stdout F three",
  "2026-01-01T00:00:04.000000000Z stdout F ",
  "",
].join("\n")

describe("a container's log", () => {
  const files = new MemoryFiles()
  const request = (
    options: Partial<LogReadRequest["options"]>,
    more: Partial<LogReadRequest> = {},
  ): LogReadRequest => ({
    files,
    path: "/log",
    options: { follow: false, timestamps: false, ...options },
    clock: new VirtualClock(Date.parse("2026-01-01T00:00:10Z")),
    isLive: () => false,
    onChange: () => () => {},
    signal: new AbortController().signal,
    ...more,
  })
  const read = async (of: LogReadRequest) => {
    let text = ""
    for await (const chunk of readLog(of)) text += Buffer.from(chunk).toString("utf8")
    return text
  }

  test.each([
    [{}, "one\ntwo\nthree\n\n"],
    [{ tailLines: 2 }, "three\n\n"],
    [{ tailLines: 0 }, ""],
    [{ tailLines: 100 }, "one\ntwo\nthree\n\n"],
    [{ stream: "Stderr" as const }, "two\n"],
    [{ limitBytes: 5 }, "one\nt"],
    [{ sinceSeconds: 7 }, "three\n\n"],
    [{ sinceTime: "2026-01-01T01:00:04+01:00" }, "\n"],
    [
      { timestamps: true, tailLines: 3 },
      "2026-01-01T00:00:02.000000001Z o\n2026-01-01T00:00:03.000000000Z three\n2026-01-01T00:00:04.000000000Z \n",
    ],
  ])("with %j", async (options, expected) => {
    files.put("/log", LOG)
    expect(await read(request(options))).toBe(expected)
  })

  test("has no more of the last lines than asked for, though it grows meanwhile", async () => {
    // given a log that grows once its last lines were found
    const growing = (options: Partial<LogReadRequest["options"]>) => {
      files.put("/log", LOG)
      let more = "2026-01-01T00:00:05Z stdout F five\n2026-01-01T00:00:06Z stdout F six\n"
      const isLive = () => {
        files.append("/log", more)
        more = ""
        return true
      }
      return read(request(options, { isLive }))
    }
    // then only those are read, and all lines without that limit
    expect(await growing({ tailLines: 2 })).toBe("three\n\n")
    expect(await growing({})).toEndWith("three\n\nfive\nsix\n")
  })

  test("is followed as it grows, over a rotation, to the container's end", async () => {
    // given a log that is followed
    files.put("/log", "2026-01-01T00:00:01Z stdout F one\n")
    let live = true
    let changed = () => {}
    const reading = readLog(
      request({ follow: true }, { isLive: () => live, onChange: (listener) => ((changed = listener), () => {}) }),
    )
    const next = async () => Buffer.from((await reading.next()).value ?? []).toString("utf8")
    expect(await next()).toBe("one\n")
    // when it grows
    const second = next()
    await files.append("/log", "2026-01-01T00:00:02Z stdout F two\n")
    expect(await second).toBe("two\n")
    // when it is rotated
    const third = next()
    await files.rename("/log", "/log.old")
    files.put("/log", "2026-01-01T00:00:03Z stdout F three\n")
    expect(await third).toBe("three\n")
    // when the container ends
    const last = reading.next()
    live = false
    changed()
    expect((await last).done).toBe(true)
  })

  test("ignores lines that are not in the log format", () => {
    const parse = (line: string) => parseLogLine(Buffer.from(line))
    expect(["", "x", "time stdin F x", "cut in two"].map(parse)).toEqual([undefined, undefined, undefined, undefined])
    expect(parse("t stdout P:x a b")).toEqual({ time: "t", stream: "stdout", partial: true, start: 13 })
    expect(parse("t stderr F")).toEqual({ time: "t", stream: "stderr", partial: false, start: 10 })
  })

  test("continues after an endless line, which no runtime writes", async () => {
    // given 3 MB without a line's end, and a line after them
    files.put("/log", `2026-01-01T00:00:01Z stdout F ${"x".repeat(3 * 2 ** 20)}\n2026-01-01T00:00:02Z stdout F two\n`)
    // then only the line is a line, and no more than a bounded part was kept
    expect(await read(request({}))).toBe("two\n")
  })

  test("is followed without events about its growth", async () => {
    // given a log that is followed, on files whose watchers are never called
    const clock = new VirtualClock(0)
    files.put("/log", "")
    const reading = readLog(
      request(
        { follow: true },
        {
          clock,
          isLive: () => true,
          files: { open: (path) => files.open(path), list: (path) => files.list(path), watch: () => () => {} },
        },
      ),
    )
    const first = reading.next()
    await clock.settle()
    // when it grows and a second goes by
    await files.append("/log", "2026-01-01T00:00:02Z stdout F two\n")
    await clock.advance(1000)
    // then what is new was read
    expect(Buffer.from((await first).value ?? []).toString("utf8")).toBe("two\n")
    await reading.return()
    expect(clock.pending).toBe(0)
  })
})
