/**
 * A transport to a real server that tells apart what has certainly not happened, what may have, and what may be old:
 * the checker must know.
 */
import { Agent, request } from "node:https"
import { Readable } from "node:stream"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Transport } from "../../../../pkg/client/client.ts"
import { jsonTransport, type HttpAnswer, type HttpCall, type Sent } from "../../../../pkg/client/json-transport.ts"

/** How long a client waits for an answer, in milliseconds. */
const ANSWER_MS = 5_000
/** After this time without a byte the kernel asks whether the server is still there, in milliseconds. */
const KEEP_ALIVE_MS = 1000

export interface HonestTransport extends Transport {
  /** Whether this answer, or error, came from a server that could not reach the store. */
  mayBeOld(answer: object): boolean
  close(): void
}

export function honestTransport(host: string, token: string): HonestTransport {
  const agent = new Agent({ keepAlive: true })
  const old = new WeakSet<object>()
  let isOld = false

  function send({ method, path, body, signal }: HttpCall): Sent {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
    let isSent = true
    const headers = {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      "user-agent": "k3ts-hunt/1",
      ...(body === undefined
        ? {}
        : { "content-type": body.contentType, "content-length": String(Buffer.byteLength(body.text)) }),
    }
    const req = request({ agent, host, port: 6443, method, path, headers, rejectUnauthorized: false }, (res) => {
      const isWatch = path.includes("watch=true")
      isOld = String(res.headers.warning ?? "").includes("may be old")
      const code = res.statusCode ?? 0
      if (isWatch) {
        res.on("error", () => undefined)
        return resolve({ code, body: res })
      }
      const chunks: Buffer[] = []
      res.on("data", (chunk: Buffer) => chunks.push(chunk))
      res.once("end", () => resolve({ code, body: Readable.from([Buffer.concat(chunks)]) }))
      res.once("error", fail)
    })
    const timer = path.includes("watch=true")
      ? undefined
      : setTimeout(() => {
          fail(new Error("no answer"))
          req.destroy()
        }, ANSWER_MS)
    const fail = (err: Error) => {
      const what = `${method} ${path} at ${host}: ${err.message}`
      reject(isSent ? new ApiError("Timeout", what) : new ApiError("ServiceUnavailable", what))
    }
    req.once("socket", (socket) => {
      socket.setKeepAlive(true, KEEP_ALIVE_MS)
      if (!socket.connecting) return
      isSent = false
      socket.once("secureConnect", () => (isSent = true))
    })
    req.on("error", fail)
    signal?.addEventListener("abort", () => req.destroy(), { once: true })
    req.end(body?.text)
    const answer = promise.finally(() => clearTimeout(timer))
    return { answer, abort: () => req.destroy() }
  }

  const { call, watch } = jsonTransport({ server: host, send })
  const noted = <T>(answer: T): T => {
    if (isOld && typeof answer === "object" && answer !== null) old.add(answer)
    return answer
  }
  return {
    watch,
    // One call at a time, so that a warning belongs to the call that is under way.
    call: (what, signal) =>
      call(what, signal).then(noted, (err: unknown) => {
        throw noted(err)
      }),
    mayBeOld: (answer) => old.has(answer),
    close: () => agent.destroy(),
  }
}
