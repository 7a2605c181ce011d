import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { createLogger } from "../log/log.ts"
import { contain, containedFailures, isMistake } from "./contain.ts"
import { FatalError } from "./fatal-error.ts"
import { orClose } from "./or-close.ts"

function logged() {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  return { lines, log: createLogger({ clock: new VirtualClock(0), format: "text", level: "info", write }) }
}

describe("a contained failure", () => {
  test("is counted by its place, and logged with its stack and what it concerns", () => {
    // given
    const { lines, log } = logged()
    const before = containedFailures().get("reconcile") ?? 0
    // when
    contain("reconcile", new TypeError("x is undefined"), log, { key: "default/web" })
    // then
    expect(containedFailures().get("reconcile")).toBe(before + 1)
    expect(lines).toEqual([
      expect.stringMatching(/place=reconcile key=default\/web err="x is undefined" stack=".* at /),
    ])
  })

  test("that returns is counted each time, and logged ever more seldom, whatever its message", () => {
    // given
    const { lines, log } = logged()
    const before = containedFailures().get("watch") ?? 0
    const fails = (i: number) => contain("watch", new Error(`number ${i}`), log)
    // when
    for (let i = 0; i < 1000; i++) fails(i)
    // then
    expect(containedFailures().get("watch")).toBe(before + 1000)
    expect(lines.map((line) => Number(/times=(\d+)/.exec(line)![1]))).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
  })

  test("is forgotten when a thousand others have come since, so that ever new texts fill no memory", () => {
    // given
    const { lines, log } = logged()
    const fails = (text: string) => contain("request", text, log)
    for (let i = 0; i < 3; i++) fails("first")
    expect(lines).toHaveLength(2)
    // when
    for (let i = 0; i < 1000; i++) fails(`other ${i}`)
    fails("first")
    // then
    expect(lines.at(-1)).toContain("times=1")
  })

  test("does not come out again when the log cannot be written to", () => {
    const write = () => {
      throw new Error("no space left on the disk")
    }
    const log = createLogger({ clock: new VirtualClock(0), format: "text", level: "info", write })
    expect(() => contain("request", new Error("any"), log)).not.toThrow()
  })

  test("is no damage of the store, which nothing contains", () => {
    const { lines, log } = logged()
    expect(() => contain("timer", new FatalError("half a commit"), log)).toThrow("half a commit")
    expect(lines).toEqual([])
  })
})

test("mistakes of a program are told apart from failures of what it talks to", () => {
  expect([new TypeError("x"), new RangeError("x"), "text", undefined].map(isMistake)).toEqual([true, true, true, true])
  expect(isMistake(new Error("connection refused"))).toBe(false)
})

test("a step that fails closes its connection, and its error goes on", () => {
  let closed = 0
  const fail = () => {
    throw new Error("first")
  }
  expect(() => orClose(() => closed++, fail)).toThrow("first")
  expect(
    orClose(
      () => closed++,
      () => "done",
    ),
  ).toBe("done")
  expect(closed).toBe(1)
})
