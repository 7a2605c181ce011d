/**
 * A program for containers: answers over HTTP, HTTPS, UDP and gRPC as upstream's agnhost does, as far as stand-ins ask.
 * Variables say what it serves: HTTP_PORT and UDP_PORT (8080 and 8081 unless set), GRPC_PORT for the health service,
 * which is well for GRPC_HEALTHY_MS, SERVE_PORT_<port> and SERVE_TLS_PORT_<port> with the text to answer there (as JSON
 * with the request's method where JSON_RESPONSE is set; TLS_CERT and TLS_KEY name the files). Every request is told in
 * the log.
 */
import { createSocket } from "node:dgram"
import { readFileSync } from "node:fs"
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { hostname } from "node:os"

const env = process.env
const startedAt = performance.now()
const received: Record<string, number> = {}
const plain = (address = "") => address.replace(/^::ffff:/, "")

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  console.log(`${req.method} ${req.url}`)
  const url = new URL(req.url ?? "/", "http://pod")
  const parameter = (name: string) => url.searchParams.get(name) ?? ""
  switch (url.pathname) {
    case "/hostname":
      return void res.end(hostname())
    case "/clientip":
      return void res.end(`${plain(req.socket.remoteAddress)}:${req.socket.remotePort}`)
    case "/echo":
      return void res.end(parameter("msg"))
    case "/healthz":
      res.statusCode = performance.now() - startedAt < Number(env["HEALTHY_MS"] ?? Infinity) ? 200 : 500
      return void res.end("healthz")
    case "/write": {
      let text = ""
      for await (const part of req) text += String(part)
      const { Source: source } = JSON.parse(text) as { Source: string }
      received[source] = (received[source] ?? 0) + 1
      return void res.end()
    }
    case "/read":
      return void res.end(JSON.stringify({ Received: received }))
    case "/dial": {
      const answers = await Promise.all(
        Array.from({ length: Number(parameter("tries") || 1) }, () =>
          dial(parameter("protocol") || "http", parameter("host"), Number(parameter("port")), parameter("request")),
        ),
      )
      const responses = answers.filter((text) => text !== undefined)
      return void res.end(JSON.stringify(responses.length > 0 ? { responses } : { errors: ["no answer"] }))
    }
    default:
      return void res.end("netexec")
  }
}

/** Returns the response of another pod; undefined if there is none within five seconds. */
function dial(protocol: string, host: string, port: number, what: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), 5000)
    if (protocol === "udp") {
      const socket = createSocket("udp4")
      socket.on("message", (message) => (resolve(message.toString()), socket.close()))
      socket.send(what, port, host)
      return
    }
    request({ host, port, path: `/${what}`, agent: false }, (res) => {
      let text = ""
      res.on("data", (part: Buffer) => (text += part.toString()))
      res.on("end", () => resolve(text))
    })
      .on("error", () => resolve(undefined))
      .end()
  })
}

/**
 * Answers always the same, as agnhost's porter does: a path that does not end with a slash is for the server to
 * redirect.
 */
function porter(text: string) {
  return (req: IncomingMessage, res: ServerResponse): void => {
    console.log(`${req.method} ${req.url}`)
    res.setHeader("content-type", text.startsWith("<") ? "text/html" : "text/plain")
    if (env["JSON_RESPONSE"] === undefined) return void res.end(text)
    res.setHeader("content-type", "application/json")
    res.end(JSON.stringify({ method: req.method, body: text }))
  }
}

createServer((req, res) => void answer(req, res)).listen(Number(env["HTTP_PORT"] ?? 8080))
const udp = createSocket("udp4")
udp.on("message", (message, from) => {
  const [command = "", ...words] = message.toString().trim().split(" ")
  console.log(`UDP ${command}`)
  const reply = { hostname: hostname(), clientip: `${from.address}:${from.port}`, echo: words.join(" ") }[command]
  if (reply !== undefined) udp.send(reply, from.port, from.address)
})
udp.bind(Number(env["UDP_PORT"] ?? 8081))

for (const [name, text = ""] of Object.entries(env)) {
  const [, tls, port] = /^SERVE_(TLS_)?PORT_(\d+)$/.exec(name) ?? []
  if (port === undefined) continue
  const files = { cert: env["TLS_CERT"] ?? "", key: env["TLS_KEY"] ?? "" }
  const server =
    tls === undefined
      ? createServer(porter(text))
      : createTlsServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) }, porter(text))
  server.listen(Number(port))
}

const grpcPort = env["GRPC_PORT"]
if (grpcPort !== undefined) {
  // Loaded only where it is served: it doubles the time that the program takes to start.
  const { Server, ServerCredentials } = await import("@grpc/grpc-js")
  const server = new Server()
  const healthy = Number(env["GRPC_HEALTHY_MS"] ?? Infinity)
  server.addService(
    {
      check: {
        path: "/grpc.health.v1.Health/Check",
        requestStream: false,
        responseStream: false,
        requestSerialize: (bytes: Buffer) => bytes,
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: (bytes: Buffer) => bytes,
        responseDeserialize: (bytes: Buffer) => bytes,
      },
    },
    {
      // field 1, a varint: 1 is SERVING, 2 NOT_SERVING
      check: (_call: unknown, reply: (error: null, bytes: Buffer) => void) =>
        reply(null, Buffer.from([8, performance.now() - startedAt < healthy ? 1 : 2])),
    },
  )
  server.bindAsync(`0.0.0.0:${grpcPort}`, ServerCredentials.createInsecure(), () => undefined)
}
process.on("SIGTERM", () => process.exit(0))
