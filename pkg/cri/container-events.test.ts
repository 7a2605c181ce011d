/**
 * Against a gRPC server made of the client's own message tables, on a socket in a temporary folder. The real containerd
 * is in components/kubelet/containerd.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { Server, status, type ServerWritableStream } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../clock/real.ts"
import { enumeration, field, message, type Fields, type MessageType } from "../protobuf/message.ts"
import { connectCri, type CriClient } from "./client.ts"
import type { ContainerEvent } from "./container-event.ts"
import { CriError } from "./errors.ts"
import { VersionResponse } from "./runtime.ts"
import { PodSandboxStatus } from "./sandbox.ts"
import { listenOnSocket } from "../grpc/serve-rpcs.fixtures.ts"

const Empty = message({})
const Event = message({
  containerId: field(1, "string"),
  type: field(2, enumeration({ CREATED: 0, STARTED: 1, STOPPED: 2, DELETED: 3 })),
  sandbox: field(4, PodSandboxStatus),
})
type Subscriber = ServerWritableStream<
  unknown,
  { containerId?: string; type?: "CREATED" | "STARTED" | "STOPPED" | "DELETED"; sandbox?: { id?: string } }
>

let folder: string
let socket: string
let cri: CriClient
let server: Server
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-cri-"))
  socket = join(folder, "cri.sock")
  cri = connectCri(`unix://${socket}`, realClock)
})
afterEach(() => {
  cri.close()
  server.forceShutdown()
  rmSync(folder, { recursive: true })
})

/** A runtime that is no containerd and tells `onSubscribe` of each subscription; without it, it tells no events. */
async function serve(onSubscribe?: (subscriber: Subscriber) => void): Promise<void> {
  server = new Server()
  const codec = <F extends Fields>(method: string, response: MessageType<F>, responseStream: boolean) => ({
    path: `/runtime.v1.RuntimeService/${method}`,
    requestStream: false,
    responseStream,
    requestSerialize: () => Buffer.alloc(0),
    requestDeserialize: (data: Buffer) => Empty.decode(data),
    responseSerialize: (value: Parameters<typeof response.encode>[0]) => Buffer.from(response.encode(value)),
    responseDeserialize: (data: Buffer) => response.decode(data),
  })
  server.addService(
    { Version: codec("Version", VersionResponse, false), GetContainerEvents: codec("GetContainerEvents", Event, true) },
    {
      Version: (_call: unknown, answer: (err: null, value: object) => void) =>
        answer(null, { runtimeName: "other", runtimeApiVersion: "v1" }),
      GetContainerEvents: (call: Subscriber) => {
        if (onSubscribe) onSubscribe(call)
        else call.emit("error", { code: status.UNIMPLEMENTED, details: "unknown method GetContainerEvents" })
      },
    },
  )
  await listenOnSocket(server, socket)
}

describe("subscribeContainerEvents", () => {
  test("begins with Relist and then returns the runtime's events", async () => {
    // given a runtime that streams events
    await serve((subscriber) => {
      subscriber.write({ containerId: "c", type: "STARTED", sandbox: { id: "s" } })
      subscriber.write({ containerId: "c", type: "STOPPED" })
    })
    // when somebody subscribes and leaves after three events
    const stop = new AbortController()
    const events: ContainerEvent[] = []
    for await (const event of cri.runtime.subscribeContainerEvents(stop.signal)) {
      events.push(event)
      if (events.length === 3) break
    }
    // then all have come
    expect(events).toContainEqual({ type: "Relist" })
    expect(events.filter(({ type }) => type !== "Relist")).toEqual([
      { type: "Started", containerId: "c", podSandboxId: "s" },
      { type: "Stopped", containerId: "c" },
    ])
  })

  test("subscribes again after the runtime was away, and returns Relist again", async () => {
    // given a subscription
    await serve(() => {})
    const stop = new AbortController()
    const events = cri.runtime.subscribeContainerEvents(stop.signal)[Symbol.asyncIterator]()
    expect((await events.next()).value).toEqual({ type: "Relist" })
    // when the runtime dies and another comes
    server.forceShutdown()
    rmSync(socket, { force: true })
    await serve((subscriber) => void setTimeout(() => subscriber.write({ containerId: "d", type: "DELETED" }), 20))
    // then it goes on
    expect((await events.next()).value).toEqual({ type: "Relist" })
    expect((await events.next()).value).toEqual({ type: "Deleted", containerId: "d" })
    // and ends when told to
    stop.abort()
    expect((await events.next()).done).toBe(true)
  })

  test("throws Unimplemented if the runtime has no events", async () => {
    await serve()
    const next = async () => {
      for await (const event of cri.runtime.subscribeContainerEvents(new AbortController().signal))
        if (event.type !== "Relist") return event
    }
    const err = await next().catch((err: unknown) => err)
    expect(err).toBeInstanceOf(CriError)
    expect((err as CriError).code).toBe("Unimplemented")
  })

  test("refuses an endpoint that is no path", () => {
    expect(() => connectCri("tcp://127.0.0.1:1234", realClock)).toThrow("give the absolute path of its unix socket")
  })
})
