import { expect, test } from "bun:test"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { Value } from "../../../../pkg/metrics/registry.ts"
import { StoredObject } from "../../../../pkg/storage/stored-object.ts"
import { WatchBatch, WatchFrame } from "../../cacher/frame.ts"
import type { Exchange } from "../exchange.ts"
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
const NAMES = Array.from({ length: 250 }, (_, i) => `n${i}`)

/** A stream over a response that notes what is written, with turns that the test takes. */
function opened() {
  const turns: (() => void)[] = []
  const res = {
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
  }
  const events = new Value()
  const exchange = { req: {}, res, headers: () => ({}) } as unknown as Exchange
  const encoder = frameEncoder({
    accepted: { encoding: "json", as: undefined, asVersion: "v1", pretty: false },
    resource: ConfigMap,
    includeObject: "None",
    now: () => 0,
  })
  const stream = new WatchStream(exchange, encoder, { events, clock: { afterTurn: (run) => void turns.push(run) } })
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
  expect(stream.send(new WatchBatch(frames(250), true))).toBe(true)
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
  stream.send(new WatchBatch(frames(250), true))
  // when
  stream.end(new ApiError("Expired", "too old"))
  turn()
  // then
  expect(names()).toEqual([...NAMES, "Expired"])
  expect(res.writableEnded).toBe(true)
})

test("nothing more is written for a client that has gone", () => {
  const { stream, res, names, turn, turnsLeft } = opened()
  stream.send(new WatchBatch(frames(250), true))
  res.destroyed = true
  turn()
  expect(names()).toHaveLength(100)
  expect(turnsLeft()).toBe(0)
})

test("a client that reads slowly may be behind by all initial events, and not by much more", () => {
  // given a client that has read nothing of some megabytes
  const { stream, res, turn } = opened()
  const large = Array.from({ length: 150 }, (_, i) => frame(`n${i}-${"x".repeat(200_000)}`))
  stream.send(new WatchBatch(large, true))
  res.writableLength = 30_000_000
  turn()
  expect(res.destroyed).toBe(false)
  // when more comes than it may be behind
  res.writableLength = 60_000_000
  expect(stream.send(frame("later").alone)).toBe(true)
  turn()
  // then
  expect(res.destroyed).toBe(true)
})
