import { expect, test } from "bun:test"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { WebSocket } from "ws"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import { Value } from "../../../../pkg/metrics/registry.ts"
import { StoredObject } from "../../../../pkg/storage/stored-object.ts"
import { WatchFrame } from "../../call/frame.ts"
import type { ApiRequest, Pipeline } from "../../call/request.ts"
import type { Exchange, Upgrade } from "../../call/exchange.ts"
import { frameEncoder } from "./watch.ts"
import { watchOverWebSocket } from "./watch-socket.ts"

const frame = (name: string, annotations = {}): WatchFrame =>
  new WatchFrame(
    "ADDED",
    new StoredObject(
      { key: name, revision: 1, created: 1, time: 0, seldomRead: false },
      { object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, annotations } } },
      true,
    ),
  )

test.each([
  { title: "many small initial events are sent in several turns", bytes: 1, count: 250, turns: 3 },
  // One in a turn.
  { title: "initial events of more bytes than may wait for a slow client are sent", bytes: 1e6, count: 40, turns: 40 },
])("over a WebSocket $title, and a later event after them", async ({ bytes, count, turns }) => {
  // given a watch that begins with many objects, and gets another event at once
  const names = Array.from({ length: count }, (_, i) => `n${i}`)
  const pipeline: Pick<Pipeline, "watch"> = {
    watch(_request, sink) {
      sink.sendFirst!(
        names.map((name) => frame(name, { a: "x".repeat(bytes) })),
        (err) => {
          throw err
        },
      )
      sink.send(frame("later").alone)
      return { close: () => undefined }
    },
  }
  let taken = 0
  const clock = {
    afterTurn(run: () => void) {
      taken++
      realClock.afterTurn(run)
    },
  }
  const encoder = frameEncoder({
    accepted: { encoding: "json", as: undefined, asVersion: "v1", pretty: false },
    resource: ConfigMap,
    includeObject: "None",
    now: () => 0,
  })
  await using server = createServer()
  server.on("upgrade", (req, socket, head) => {
    const upgrade = { socket, head, answer: { upgraded: () => undefined } } as unknown as Upgrade
    const exchange = { req } as unknown as Exchange
    const context = { events: new Value(), clock }
    void watchOverWebSocket(exchange, upgrade, {} as ApiRequest, pipeline as Pipeline, encoder, context)
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  // when
  const ws = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const seen: string[] = []
  await new Promise<void>((resolve, reject) => {
    ws.on("message", (data: Buffer) => {
      const { object } = JSON.parse(data.toString()) as { readonly object: { readonly metadata: { name: string } } }
      seen.push(object.metadata.name)
      if (object.metadata.name === "later") resolve()
    })
    ws.on("close", () => reject(new Error("the watch has ended")))
    ws.on("error", reject)
  })
  ws.terminate()
  // then
  expect(seen).toEqual([...names, "later"])
  expect(taken).toBe(turns)
})
