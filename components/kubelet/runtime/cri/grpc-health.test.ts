import { type Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { connect, createServer, type AddressInfo } from "node:net"
import { realClock } from "../../../../pkg/clock/real.ts"
import { checkHealth, failureOf } from "./grpc-health.ts"

const host = "127.0.0.1"
const check = (port: number, service = "", timeoutMs = 20_000) =>
  checkHealth(`${host}:${port}`, service, { clock: realClock, timeoutMs })
const bind = (server: Server): Promise<number> =>
  new Promise((resolve, reject) =>
    server.bindAsync(`${host}:0`, ServerCredentials.createInsecure(), (err, port) =>
      err ? reject(err) : resolve(port),
    ),
  )

describe("a gRPC probe", () => {
  const server = new Server()
  const agents: string[] = []
  let port = 0
  beforeAll(async () => {
    server.addService(
      {
        Check: {
          path: "/grpc.health.v1.Health/Check",
          requestStream: false,
          responseStream: false,
          requestSerialize: (value: Buffer) => value,
          requestDeserialize: (bytes: Buffer) => bytes,
          responseSerialize: (value: Buffer) => value,
          responseDeserialize: (bytes: Buffer) => bytes,
        },
      },
      {
        Check: (
          call: { request: Buffer; metadata: Metadata },
          answer: (err: object | null, value?: Buffer) => void,
        ) => {
          agents.push(String(call.metadata.get("user-agent")[0]))
          const service = call.request.subarray(2).toString()
          if (service === "unknown") answer({ code: status.NOT_FOUND, details: "unknown service" })
          else answer(null, Buffer.from([8, service === "bad" ? 2 : 1]))
        },
      },
    )
    port = await bind(server)
  })
  afterAll(() => server.forceShutdown())

  test("tells the status that the server gives, to which it is kube-probe", async () => {
    expect(await Promise.all(["", "bad"].map((service) => check(port, service)))).toEqual(["SERVING", "NOT_SERVING"])
    expect(agents[0]).toMatch(/^kube-probe\/1\.\d+ /)
  })

  test("fails where the server does not know the service, in its words", async () => {
    await expect(check(port, "unknown")).rejects.toThrow(
      "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
    )
  })

  test("fails where the server has no health service at all", async () => {
    const other = new Server()
    await expect(check(await bind(other))).rejects.toThrow(
      "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ",
    )
    other.forceShutdown()
  })

  test("says that no connection was made in its time", async () => {
    await expect(check(1, "", 100)).rejects.toThrow(
      `timeout: failed to connect service "${host}:1" within 100ms: context deadline exceeded`,
    )
  })

  test("connects again within its time, as long as a server is still starting", async () => {
    // given a port whose first connection is closed at once
    let connections = 0
    const door = createServer((socket) => {
      socket.on("error", () => {})
      if (++connections === 1) return void socket.destroy()
      const inner = connect(port, host)
      inner.on("error", () => socket.destroy())
      socket.pipe(inner).pipe(socket)
    })
    await new Promise<void>((resolve) => door.listen(0, host, resolve))
    // then
    expect(await check((door.address() as AddressInfo).port)).toBe("SERVING")
    expect(connections).toBe(2)
    door.close()
  })

  test.each([
    [status.DEADLINE_EXCEEDED, "timeout: health rpc did not complete within 3s"],
    [status.CANCELLED, "error: health rpc probe failed: rpc error: code = Canceled desc = why"],
    [status.UNAVAILABLE, "error: health rpc probe failed: rpc error: code = Unavailable desc = why"],
    [
      status.UNIMPLEMENTED,
      "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): why",
    ],
  ])("says of code %d: %s", (code, words) => {
    expect(failureOf({ code, details: "why" }, "3s")).toBe(words)
  })
})
