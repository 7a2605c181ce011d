import { Server, ServerCredentials, status, type sendUnaryData, type ServerUnaryCall } from "@grpc/grpc-js"
import { expect, test } from "bun:test"
import { createServer } from "node:http"
import { createServer as createTcpServer, type AddressInfo } from "node:net"
import { gunzipSync } from "node:zlib"
import { realClock } from "../../clock/real.ts"
import { grpcSender } from "./grpc-sender.ts"
import { httpSender } from "./http-sender.ts"
import { ExportTraceServiceRequest, type ExportRequest } from "./messages.ts"
import { DEFAULT_OTLP, type OtlpSettings } from "./settings.ts"

const REQUEST: ExportRequest = { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "syncPod" }] }] }] }
const settings = (more: Pick<OtlpSettings, "protocol" | "endpoint"> & Partial<OtlpSettings>): OtlpSettings => ({
  ...DEFAULT_OTLP,
  ...more,
})
const nameIn = (bytes: Uint8Array) =>
  ExportTraceServiceRequest.decode(bytes).resourceSpans[0]?.scopeSpans[0]?.spans[0]?.name

test("spans reach a collector over gRPC with their headers, and its error is returned", async () => {
  // given a collector that takes one request and then has no room
  const seen: unknown[] = []
  const server = new Server()
  server.addService(
    {
      export: {
        path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        requestStream: false,
        responseStream: false,
        requestSerialize: (bytes: Buffer) => bytes,
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: () => Buffer.alloc(0),
        responseDeserialize: () => undefined,
      },
    },
    {
      export({ request, metadata }: ServerUnaryCall<Buffer, undefined>, answer: sendUnaryData<undefined>) {
        seen.push([nameIn(request), metadata.get("api-key")[0]])
        if (seen.length > 1) answer({ code: status.RESOURCE_EXHAUSTED, details: "no room" })
        else answer(null, undefined)
      },
    },
  )
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (err, bound) =>
      err === null ? resolve(bound) : reject(err),
    ),
  )
  const sender = grpcSender(
    settings({ protocol: "grpc", endpoint: `127.0.0.1:${port}`, headers: { "api-key": "k" } }),
    realClock,
  )
  try {
    // when
    await sender.send(REQUEST)
    const refused: unknown = await sender.send(REQUEST).catch((err: unknown) => err)
    // then
    expect(seen).toEqual([
      ["syncPod", "k"],
      ["syncPod", "k"],
    ])
    expect(refused).toMatchObject({ message: "no room", isTemporary: true })
  } finally {
    sender.close()
    server.forceShutdown()
  }
})

const CASES = [
  { title: "protobuf", given: { protocol: "http/protobuf", gzip: false }, type: "application/x-protobuf" },
  { title: "compressed protobuf", given: { protocol: "http/protobuf", gzip: true }, type: "application/x-protobuf" },
  { title: "JSON", given: { protocol: "http/json", gzip: false }, type: "application/json" },
] as const
for (const { title, given, type } of CASES)
  test(`spans reach a collector over HTTP as ${title}, and its error is returned`, async () => {
    // given a collector that takes one request and refuses the next
    const seen: unknown[] = []
    const server = createServer((req, res) => {
      const parts: Buffer[] = []
      req.on("data", (part: Buffer) => parts.push(part))
      req.on("end", () => {
        const sent = Buffer.concat(parts)
        const body = req.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent
        const isJson = req.headers["content-type"] === "application/json"
        seen.push([
          req.headers["content-type"],
          isJson ? body.includes('"name":"syncPod"') : nameIn(body) === "syncPod",
        ])
        res.writeHead(seen.length > 1 ? 400 : 200).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const sender = httpSender(settings({ ...given, endpoint: `http://127.0.0.1:${port}/v1/traces` }), realClock)
    try {
      // when
      await sender.send(REQUEST)
      const refused: unknown = await sender.send(REQUEST).catch((err: unknown) => err)
      // then
      expect(seen).toEqual([
        [type, true],
        [type, true],
      ])
      expect(refused).toMatchObject({ message: "the collector answered 400", isTemporary: false })
    } finally {
      sender.close()
      server.closeAllConnections()
      server.close()
    }
  })

test("a collector that cannot be reached is a temporary failure", async () => {
  const sender = httpSender(
    settings({ protocol: "http/protobuf", endpoint: "http://127.0.0.1:1/v1/traces" }),
    realClock,
  )
  const failed: unknown = await sender.send(REQUEST).catch((err: unknown) => err)
  expect(failed).toMatchObject({ name: "SendError", isTemporary: true })
  sender.close()
})

test("a collector that switches protocols unasked is a temporary failure", async () => {
  const answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
  const server = createTcpServer((socket) => void socket.once("data", () => socket.end(answer)))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const sender = httpSender(
    settings({ protocol: "http/json", endpoint: `http://127.0.0.1:${port}/v1/traces` }),
    realClock,
  )
  const failed: unknown = await sender.send(REQUEST).catch((err: unknown) => err)
  expect(failed).toMatchObject({ name: "SendError", isTemporary: true })
  sender.close()
  server.close()
})
