import { describe, expect, test } from "bun:test"
import { EventEmitter } from "node:events"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { Value } from "../../../../pkg/metrics/registry.ts"
import { StoredObject } from "../../../../pkg/storage/stored-object.ts"
import { WatchBatch, WatchFrame } from "../../call/frame.ts"
import type { Exchange } from "../../call/exchange.ts"
import { frameEncoder } from "./watch.ts"
import { WatchStream } from "./watch-stream.ts"

const frame = (name: string): WatchFrame =>
  new WatchFrame(
    "ADDED",
    new StoredObject(
      { key: name, revision: 1, created: 1, time: 0, seldomRead: false },
      { object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } } },
      true,
    ),
  )
const frames = (count: number) => Array.from({ length: count }, (_, i) => frame(`n${i}`))
const fail = (err: unknown): never => {
  throw err
}
const NAMES = Array.from({ length: 250 }, (_, i) => `n${i}`)

/** A stream over a response that notes what is written, with turns that the test takes. */
function opened() {
  const turns: (() => void)[] = []
  const res = Object.assign(new EventEmitter(), {
    writableNeedDrain: false,
    headersSent: false,
    destroyed: false,
    writableEnded: false,
    writableLength: 0,
    text: "",
    writeHead: () => (res.headersSent = true),
    write: (bytes: Uint8Array | string) => (res.text += typeof bytes === "string" ? bytes : Buffer.from(bytes)),
    end(bytes?: Uint8Array) {
      if (bytes !== undefined) res.write(bytes)
      res.writableEnded = true
    },
    destroy: () => (res.destroyed = true),
  })
  const events = new Value()
  const exchange = { req: {}, res, headers: () => ({}) } as unknown as Exchange
  const encoder = frameEncoder({
    accepted: { encoding: "json", as: undefined, asVersion: "v1", pretty: false },
    resource: ConfigMap,
    includeObject: "None",
    now: () => 0,
  })
  const stream = new WatchStream(exchange, encoder, {
    events,
    clock: { afterTurn: (run) => void turns.push(run) },
    refuse: fail,
  })
  const lines = () =>
    res.text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  return {
    stream,
    res,
    events,
    turn: () => turns.shift()?.(),
    turnsLeft: () => turns.length,
    names: () => lines().map(({ object }) => object.metadata.name ?? object.reason),
  }
}

test("many initial events are written in several turns, and later events after them", () => {
  // given
  const { stream, events, names, turn, turnsLeft } = opened()
  // when
  stream.sendFirst(frames(250), fail)
  expect(names()).toEqual(NAMES.slice(0, 100))
  expect(stream.send(frame("later").alone)).toBe(true)
  turn()
  expect(names()).toEqual(NAMES.slice(0, 200))
  turn()
  turn()
  turn()
  // then
  expect(names()).toEqual([...NAMES, "later"])
  expect(turnsLeft()).toBe(0)
  expect(events.value).toBe(251)
  // and what comes now is written at once
  stream.send(frame("last").alone)
  expect(names().at(-1)).toBe("last")
})

test("events of one commit are written at once, however many they are", () => {
  const { stream, names } = opened()
  stream.send(new WatchBatch(frames(250)))
  expect(names()).toEqual(NAMES)
})

test("a watch that ends while initial events wait writes them before the reason", () => {
  // given
  const { stream, res, names, turn } = opened()
  stream.sendFirst(frames(250), fail)
  // when
  stream.end(new ApiError("Expired", "too old"))
  turn()
  turn()
  // then
  expect(names()).toEqual([...NAMES, "Expired"])
  expect(res.writableEnded).toBe(true)
})

test("nothing more is written for a client that has gone", () => {
  const { stream, res, names, turn, turnsLeft } = opened()
  stream.sendFirst(frames(250), fail)
  res.destroyed = true
  turn()
  expect(names()).toHaveLength(100)
  expect(turnsLeft()).toBe(0)
})

describe("a client that does not read its initial events", () => {
  const SIZE = 10_000
  /** A client that has read nothing yet, after the first part. */
  function slow() {
    let made = 0
    const all = function* () {
      for (; made < 1000; made++) yield frame(`n${made}-${"x".repeat(SIZE)}`)
    }
    const client = opened()
    client.res.writableNeedDrain = true
    client.stream.sendFirst(all(), fail)
    return { ...client, made: () => made }
  }
  const batch = (size: number) => frame(`later-${"x".repeat(size)}`).alone

  test("costs no more than one part of them, and gets the next when it has read", async () => {
    // given
    const { res, turn, turnsLeft, made } = slow()
    const first = res.text.length
    expect(first).toBeGreaterThan(200_000)
    expect(first).toBeLessThan(400_000)
    expect([made() < 30, turnsLeft()]).toEqual([true, 0])
    // when
    res.emit("drain")
    await Promise.resolve()
    turn()
    // then
    expect(res.text.length).toBeLessThan(2.1 * first)
    expect(res.text.length).toBeGreaterThan(1.9 * first)
    expect(turnsLeft()).toBe(0)
  })

  test("gets all, and then what came meanwhile, if it reads in the end", async () => {
    const { stream, res, names, turn, turnsLeft } = slow()
    expect(stream.send(frame("later").alone)).toBe(true)
    res.writableNeedDrain = false
    res.emit("drain")
    await Promise.resolve()
    while (turnsLeft() > 0) turn()
    expect(names()).toHaveLength(1001)
    expect(names().at(-1)).toBe("later")
  })

  test("is cut off when more comes than it may be behind", () => {
    const { stream, res } = slow()
    expect(stream.send(batch(10_000_000))).toBe(true)
    expect(stream.send(batch(10_000_000))).toBe(false)
    stream.end(undefined)
    expect([res.destroyed, res.text.length < 400_000]).toEqual([true, true])
  })

  test("may be behind by as much again once it has read what came later", async () => {
    // given two later events, of which the client reads the first
    const { stream, res, turn } = slow()
    expect([stream.send(batch(10_000_000)), stream.send(batch(5_000_000))]).toEqual([true, true])
    while (res.text.length < 15_000_000) {
      res.emit("drain")
      await Promise.resolve()
      turn()
    }
    // then
    expect(stream.send(batch(10_000_000))).toBe(true)
    expect(stream.send(batch(10_000_000))).toBe(false)
  })

  test("is cut off when it stops to read after its watch has ended", () => {
    const { stream, res, turn, turnsLeft } = opened()
    stream.sendFirst(frames(250), fail)
    stream.end(undefined)
    res.writableNeedDrain = true
    turn()
    expect([res.destroyed, turnsLeft()]).toEqual([true, 0])
  })

  test("is cut off when its watch ends", () => {
    const { stream, res } = slow()
    stream.end(new ApiError("Expired", "too old"))
    expect([res.destroyed, res.text.length < 400_000]).toEqual([true, true])
  })
})

test("a watch that begins with an object that cannot be sent gets those before it, and the reason", () => {
  // given
  const { stream, res, names, turn, turnsLeft } = opened()
  const failed: unknown[] = []
  stream.sendFirst(
    (function* () {
      yield* frames(100)
      throw new Error("cannot be converted")
    })(),
    (err) => {
      failed.push(err)
      stream.end(ApiError.from(err))
    },
  )
  stream.send(frame("later").alone)
  // when
  turn()
  // then
  expect(failed).toEqual([new Error("cannot be converted")])
  expect(names()).toEqual([...NAMES.slice(0, 100), "InternalError"])
  expect([res.writableEnded, turnsLeft()]).toEqual([true, 0])
})

test("a client may be behind by some megabytes of later events", () => {
  const { stream, res } = opened()
  res.writableLength = 10_000_000
  expect(stream.send(frame("one").alone)).toBe(true)
  res.writableLength = 20_000_000
  expect(stream.send(frame("two").alone)).toBe(false)
  stream.end(undefined)
  expect(res.destroyed).toBe(true)
})
