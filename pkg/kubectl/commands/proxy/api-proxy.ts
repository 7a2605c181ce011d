import type { Duplex } from "node:stream"
import { errorMessage } from "../../../errors/error-message.ts"
import { passOn } from "../../../runtime/http/pass-on.ts"
import type { ServerAnswer, ServerRequest } from "../../../runtime/http/server-request.ts"
import { readAnswer, UpgradeRefused } from "../../../streaming/dial.ts"
import { splice } from "../../../streaming/splice.ts"
import { refuseUpgrade } from "../../../streaming/upgrade.ts"
import type { Connect } from "../../environment/connect.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import type { Log } from "../../rest/log.ts"
import { answerText } from "./answers.ts"

/** Headers of one connection, which are not passed on. Source: Go net/http/httputil (ReverseProxy). */
const OF_CONNECTION = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

type Headers = Record<string, string | readonly string[]>

/**
 * Passes requests on to the API server with the credentials of the kubeconfig. Source: apimachinery
 * pkg/util/proxy/upgradeaware.go.
 */
export class ApiProxy {
  readonly #client: RestClient
  readonly #connect: Connect
  readonly #log: Log
  /** What comes before the paths of requests. */
  readonly #base: string

  constructor(parts: {
    readonly client: RestClient
    readonly connect: Connect
    readonly log: Log
    /** Whether the path of the server in the kubeconfig comes before those of requests. */
    readonly appendServerPath: boolean
  }) {
    this.#client = parts.client
    this.#connect = parts.connect
    this.#log = parts.log
    this.#base = parts.appendServerPath ? parts.client.config.server.pathname.replace(/\/$/, "") : ""
  }

  /** `target` is the escaped path with the query. */
  async request(request: ServerRequest, answer: ServerAnswer, target: string, peer: string): Promise<void> {
    const gone = new AbortController()
    answer.once("close", () => gone.abort(new Error("context canceled")))
    try {
      const hasBody = request.headers["content-length"] !== undefined || "transfer-encoding" in request.headers
      const response = await this.#client.forward({
        method: request.method ?? "GET",
        url: this.#url(target),
        headers: headersOf(request, peer, (name) => !namedByConnection(request).has(name)),
        signal: gone.signal,
        ...(hasBody ? { parts: request as AsyncIterable<Uint8Array> } : {}),
      })
      const headers = Object.entries(response.headers).filter(([name]) => !OF_CONNECTION.has(name))
      answer.writeHead(response.status, Object.fromEntries(headers.map(([name, value]) => [canonical(name), value])))
      await passOn(response.body, answer)
    } catch (err) {
      if (gone.signal.aborted) return
      if (answer.headersSent) return void answer.destroy()
      this.#log.plainError("proxy_server.go:155", `Error while proxying request: ${errorMessage(err)}`)
      answerText(answer, 500, errorMessage(err))
    }
  }

  async upgrade(request: ServerRequest, connection: Duplex, head: Uint8Array, target: string, peer: string) {
    try {
      const url = this.#url(target)
      const headers = await this.#client.headersOfForwarded(headersOf(request, peer, () => true))
      const { proxy } = this.#client.config
      const tls = await this.#client.tls()
      const server = await this.#connect.dial({ url, tls, ...(proxy === undefined ? {} : { proxy }) })
      connection.once("close", () => server.destroy())
      const lines = Object.entries({ Host: url.host, ...headers }).flatMap(([name, value]) =>
        [value].flat().map((each) => `${name}: ${each}\r\n`),
      )
      server.write(`${request.method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`)
      const upgraded = await readAnswer(server, "")
      connection.write(upgraded.answer)
      connection.write(upgraded.head)
      if (head.length > 0) server.write(head)
      await splice(connection, server)
    } catch (err) {
      this.#refuse(connection, err)
    }
  }

  #refuse(connection: Duplex, err: unknown): void {
    if (err instanceof UpgradeRefused && err.status >= 400) {
      const type = err.body.startsWith("{") ? "application/json" : "text/plain; charset=utf-8"
      return refuseUpgrade(connection, err.status, err.body, { "Content-Type": type })
    }
    const words =
      err instanceof UpgradeRefused ? `invalid upgrade response: status code ${err.status}` : errorMessage(err)
    this.#log.plainError("proxy_server.go:155", `Error while proxying request: ${words}`)
    refuseUpgrade(connection, 500, `${words}\n`)
  }

  #url(target: string): URL {
    const url = new URL(this.#client.config.server)
    const at = target.indexOf("?")
    url.pathname = this.#base + (at === -1 ? target : target.slice(0, at))
    url.search = at === -1 ? "" : target.slice(at)
    return url
  }
}

/** The headers that the API server gets of the client's. */
function headersOf(request: ServerRequest, peer: string, isSent: (name: string) => boolean): Headers {
  const headers: Headers = {}
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const [written, value] = [request.rawHeaders[at]!, request.rawHeaders[at + 1]!]
    const name = canonical(written.toLowerCase())
    if (name === "Host" || !isSent(written.toLowerCase())) continue
    headers[name] = name in headers ? [headers[name]!, value].flat() : value
  }
  if (peer !== "") headers["X-Forwarded-For"] = [headers["X-Forwarded-For"] ?? [], peer].flat().join(", ")
  return headers
}

/** The headers that are not passed on, with those that the client itself names. */
const namedByConnection = ({ headers }: ServerRequest): ReadonlySet<string> =>
  new Set([...OF_CONNECTION, ...(headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase())])

/** Names as Go has them: `Content-Type`. */
const canonical = (name: string): string =>
  name.replaceAll(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())
