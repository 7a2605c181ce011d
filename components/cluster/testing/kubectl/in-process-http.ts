/** HTTP between a client and the API server of this process: no sockets, and no bytes for heads. */
import { Buffer } from "node:buffer"
import type { Duplex } from "node:stream"
import type { Connect, HttpRequest, HttpResponse } from "../../../../pkg/kubectl/environment/connect.ts"
import { InProcessAnswer, InProcessRequest } from "../../../../pkg/runtime/http/in-process.ts"
import type { Server } from "../../../apiserver/server.ts"
import { duplexPair } from "./duplex-pair.ts"

/** Sends requests to the server that `server` returns, which may be another one after a restart. */
export const inProcessConnect = (server: () => Server): Connect => ({
  send: (request) => send(server, request),
  dial: () => {
    const [client, other] = duplexPair()
    void readUpgrade(server, other)
    return Promise.resolve(client)
  },
})

const pairsOf = (headers: HttpRequest["headers"]): readonly (readonly [string, string])[] =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => [name, each] as const))

function send(server: () => Server, { method, url, headers, body, signal }: HttpRequest): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const answer = new InProcessAnswer(resolve)
    answer.once("close", () => reject(new Error("EOF")))
    const abort = () => {
      reject(signal!.reason as Error)
      answer.destroy(signal!.reason as Error)
    }
    if (signal?.aborted === true) return abort()
    signal?.addEventListener("abort", abort, { once: true })
    answer.once("close", () => signal?.removeEventListener("abort", abort))
    try {
      const own = [
        ["host", url.host],
        ...(body === undefined ? [] : [["content-length", String(Buffer.byteLength(body))]]),
      ] as [string, string][]
      const path = url.pathname + url.search
      server().onRequest(
        new InProcessRequest({ method, url: path, headers: [...pairsOf(headers), ...own], body, version: "2.0" }),
        answer,
      )
    } catch {
      // As if nothing listened.
      reject(new Error(`dial tcp ${url.host}: connect: connection refused`))
    }
  })
}

/** Reads the head of a request for another protocol, and hands the connection to the server. */
async function readUpgrade(server: () => Server, socket: Duplex): Promise<void> {
  let bytes: Buffer = Buffer.alloc(0)
  const end = await new Promise<number>((resolve) => {
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const at = bytes.indexOf("\r\n\r\n")
      if (at === -1) return
      socket.pause()
      socket.off("data", onData)
      resolve(at)
    }
    socket.on("data", onData)
  })
  const [line = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const [method = "", url = ""] = line.split(" ")
  const headers = lines.map(
    (each) => [each.slice(0, each.indexOf(":")).trim(), each.slice(each.indexOf(":") + 1).trim()] as const,
  )
  try {
    server().onUpgrade(new InProcessRequest({ method, url, headers, version: "1.1" }), socket, bytes.subarray(end + 4))
  } catch {
    socket.destroy()
  }
}
