import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { appendFileSync, mkdtempSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { hostFiles } from "../runtime/cri/files/files.ts"
import { readLog, type LogReadRequest } from "./read.ts"

const files = hostFiles(realClock)
let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-log-"))
  path = join(folder, "0.log")
})
afterEach(() => rmSync(folder, { recursive: true }))

const openFiles = (): readonly string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`)
      return target.startsWith(folder) ? [target] : []
    } catch {
      return [] // the descriptor by which the folder was read
    }
  })

/** A request for the log; `end` ends the container. */
function following(options: Partial<LogReadRequest["options"]> = {}) {
  const gone = new AbortController()
  let live = options.follow === true
  let changed = () => {}
  const waits = Promise.withResolvers<void>()
  const clock: Clock = Object.assign(Object.create(realClock) as Clock, {
    setTimeout: (...args: Parameters<Clock["setTimeout"]>) => (waits.resolve(), realClock.setTimeout(...args)),
  })
  const log = readLog({
    files,
    path,
    options: { follow: false, timestamps: false, ...options },
    clock,
    isLive: () => live,
    onChange: (listener) => ((changed = listener), () => {}),
    signal: gone.signal,
  })
  return {
    gone,
    log,
    /** Resolves when the end of the file was reached, and more is waited for. */
    waits: waits.promise,
    next: async () => Buffer.from((await log.next()).value ?? []).toString("latin1"),
    end() {
      live = false
      changed()
    },
  }
}

const all = async (log: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const parts: Uint8Array[] = []
  for await (const part of log) parts.push(part)
  return Buffer.concat(parts)
}

/** What containerd writes: lines of at most `cut` bytes, tagged P where the container's line continues. */
function asWritten(output: Buffer, cut = 16 * 1024): Buffer {
  const parts: Buffer[] = []
  for (let from = 0; from < output.length;) {
    const end = output.indexOf(10, from)
    for (; end - from > cut; from += cut)
      parts.push(Buffer.from("2026-01-01T00:00:01.5Z stdout P "), output.subarray(from, from + cut), Buffer.from("\n"))
    parts.push(Buffer.from("2026-01-01T00:00:01.5Z stdout F "), output.subarray(from, end + 1))
    from = end + 1
  }
  return Buffer.concat(parts)
}

describe("a log is the container's bytes", () => {
  // a line of characters of three bytes, each byte there is, a character across the cut, and an empty line
  const output = Buffer.concat([
    Buffer.from(`${"方".repeat(20_000)}\n`),
    Buffer.from(Array.from({ length: 256 }, (_, i) => i).filter((byte) => byte !== 10)),
    Buffer.from(`\n${"a".repeat(16_383)}ä umlaut\n\nraw `),
    Buffer.from([0xff, 0xfe, 0x80]),
    Buffer.from(" end\n"),
  ])
  const lastLine = output.subarray(output.lastIndexOf("\n", output.length - 2) + 1)

  test.each([
    ["as a whole", {}, output],
    ["that is followed", { follow: true }, output],
    ["with its last lines", { tailLines: 1 }, lastLine],
    ["since a time", { sinceTime: "2026-01-01T00:00:01Z" }, output],
    ["of one stream", { stream: "Stdout" as const }, output],
    ["up to a size", { limitBytes: 60_100 }, output.subarray(0, 60_100)],
    [
      "with timestamps",
      { timestamps: true, tailLines: 1 },
      Buffer.concat([Buffer.from("2026-01-01T00:00:01.5Z "), lastLine]),
    ],
  ])("%s", async (_title, options, expected) => {
    // given
    writeFileSync(path, asWritten(output))
    const { log, end } = following(options)
    end()

    // then
    expect((await all(log)).equals(expected)).toBe(true)
  })
})

describe("nothing stays open when the client goes", () => {
  const long = "2026-01-01T00:00:01Z stdout F line\n".repeat(10_000)

  test.each([
    [
      "before the log is read",
      async ({ gone, next }: ReturnType<typeof following>) => (gone.abort(), await next(), {}),
    ],
    [
      "while the log is opened",
      async ({ gone, next }: ReturnType<typeof following>) => {
        const first = next()
        gone.abort()
        await first
      },
    ],
    [
      "without ever asking for the rest",
      async ({ gone, next }: ReturnType<typeof following>) => {
        await next()
        gone.abort()
      },
    ],
    [
      "while the rest is read",
      async ({ gone, next }: ReturnType<typeof following>) => {
        await next()
        const second = next()
        gone.abort()
        await second
      },
    ],
    [
      "while more is waited for",
      async ({ gone, log, waits }: ReturnType<typeof following>) => {
        const rest = all(log)
        await Promise.race([waits, rest])
        gone.abort()
        await rest
      },
    ],
    [
      "and the reader has ended",
      async ({ log, next }: ReturnType<typeof following>) => (await next(), await log.return()),
    ],
  ])("%s", async (_title, cut) => {
    for (const follow of [false, true]) {
      // given
      writeFileSync(path, long)
      const before = openFiles().length

      // when
      const request = following({ follow })
      await cut(request)

      // then
      while (openFiles().length > before) await new Promise(setImmediate) // closing takes a turn
      expect(openFiles()).toEqual([])
    }
  })
})

test("what a runtime writes to the old file after a rotation is not lost", async () => {
  // given a log that is followed
  writeFileSync(path, "2026-01-01T00:00:01Z stdout F one\n")
  const { log, next, end } = following({ follow: true })
  expect(await next()).toBe("one\n")

  // when it is rotated, and the runtime writes to the old file until it has the new one
  renameSync(path, `${path}.1`)
  writeFileSync(path, "")
  appendFileSync(`${path}.1`, "2026-01-01T00:00:02Z stdout F two\n")
  appendFileSync(path, "2026-01-01T00:00:03Z stdout F three\n")

  // then
  expect(await next()).toBe("two\n")
  expect(await next()).toBe("three\n")
  end()
  expect((await log.next()).done).toBe(true)
  expect(openFiles()).toEqual([])
})

describe("right after a rotation", () => {
  const lines = (...texts: readonly string[]) => texts.map((text) => `2026-01-01T00:00:01Z stdout F ${text}\n`).join("")

  test.each([
    ["the whole log", {}, [], "one\ntwo\n"],
    ["the whole log that has begun again", {}, ["three"], "three\n"],
    ["the last line", { tailLines: 1 }, [], "two\n"],
    ["the last lines of both files", { tailLines: 2 }, ["three"], "two\nthree\n"],
    ["more lines than there are", { tailLines: 9 }, ["three"], "one\ntwo\nthree\n"],
    ["the last lines of the new file", { tailLines: 1 }, ["three", "four"], "four\n"],
    ["no line", { tailLines: 0 }, [], ""],
  ])("%s can be read", async (_title, options, later, expected) => {
    // given a log whose first lines are in two files that were rotated
    writeFileSync(`${path}.20260101-000000.gz`, "")
    writeFileSync(`${path}.20260101-000001`, lines("one", "two"))
    writeFileSync(path, lines(...later))
    const { log, end } = following(options)
    end()

    // then
    expect((await all(log)).toString()).toBe(expected)
    expect(openFiles()).toEqual([])
  })

  test("a log is followed from the file before to the new one", async () => {
    // given
    writeFileSync(`${path}.20260101-000001`, lines("one"))
    writeFileSync(path, "")
    const { log, next, end, waits } = following({ follow: true })
    expect(await next()).toBe("one\n")

    // when
    const second = next()
    await waits
    appendFileSync(path, lines("two"))

    // then
    expect(await second).toBe("two\n")
    end()
    expect((await log.next()).done).toBe(true)
    expect(openFiles()).toEqual([])
  })

  test("a log of which only compressed files are left is empty", async () => {
    writeFileSync(`${path}.20260101-000000.gz`, "x")
    writeFileSync(path, "")
    const { log, end } = following()
    end()
    expect((await all(log)).toString()).toBe("")
  })
})
