import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { TestClusterError } from "../../../components/cluster/testing/caller.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { sameSecret } from "../../../pkg/pki/same-secret.ts"
import { beginListening } from "../../../pkg/runtime/http/begin-listening.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { ControlError, ROUTES, type Driven } from "./routes.ts"

const ROOT = "/v1/clusters/"
/** The definitions of a large operator are several megabytes of manifests. */
const MOST_BODY_BYTES = 32 * 1024 * 1024

/**
 * Serves the routes over HTTP, on loopback only. Every other user of the machine reaches the port, so each request
 * needs the token; a page in a browser cannot send it either.
 */
export class ControlChannel {
  readonly #clusters: ReadonlyMap<string, Driven>
  readonly #token: string
  readonly #server: Server

  constructor(clusters: ReadonlyMap<string, Driven>, token: string) {
    this.#clusters = clusters
    this.#token = token
    this.#server = createServer((req, res) => void this.#serve(req, res))
  }

  /** Resolves when it listens, on a free port. */
  start(): Promise<void> {
    return beginListening(this.#server, { host: "127.0.0.1", port: 0 })
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  urlOf(cluster: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${ROOT}${cluster}`
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const [status, body] = await this.#answer(req).then((answer) => [200, answer] as const, failure)
    res.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`)
  }

  async #answer(req: IncomingMessage): Promise<unknown> {
    const [, given = ""] = /^Bearer (.+)$/.exec(req.headers.authorization ?? "") ?? []
    if (!sameSecret(given, this.#token))
      throw new ControlError(401, "the header Authorization must be `Bearer` and the value of K3TS_CONTROL_TOKEN")
    const { pathname } = new URL(req.url ?? "/", "http://localhost")
    const [, name = "", path = "", id = ""] =
      /^\/v1\/clusters\/([^/]+)(\/[a-z-]+(?:\/(?=.))?)?(.*)$/.exec(pathname) ?? []
    const driven = this.#clusters.get(name)
    if (driven === undefined)
      throw new ControlError(404, `there is no cluster at ${pathname}: K3TS_CONTROL_URL is that of the first one`)
    const atPath = ROUTES.filter((one) => one.path === path && (id === "") !== one.path.endsWith("/"))
    if (atPath.length === 0) {
      const known = [...new Set(ROUTES.map((one) => one.path).filter((one) => one !== ""))].join(", ")
      throw new ControlError(404, `there is no ${JSON.stringify(path + id)} of a cluster: there are ${known}`)
    }
    const route = atPath.find((one) => one.method === req.method)
    if (route === undefined)
      throw new ControlError(405, `${path} is for ${atPath.map((one) => one.method).join(" and ")}, not ${req.method}`)
    return route.answer(driven, await bodyOf(req), id)
  }
}

/** Returns the body, parsed; undefined when it is empty. @throws ControlError */
async function bodyOf(req: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of req as AsyncIterable<Buffer>) {
    if ((bytes += part.length) > MOST_BODY_BYTES)
      throw new ControlError(413, `the body is larger than ${MOST_BODY_BYTES} bytes`)
    parts.push(part)
  }
  if (bytes === 0) return undefined
  try {
    return JSON.parse(Buffer.concat(parts).toString()) as unknown
  } catch (err) {
    throw new ControlError(400, `the body is no JSON: ${(err as Error).message}`)
  }
}

/** Returns the status and the body that tell a client what went wrong: the words of the cluster, and its reason. */
function failure(err: unknown): readonly [status: number, body: object] {
  if (err instanceof ControlError) return [err.status, { error: err.message }]
  if (err instanceof ApiError) return [err.code, { error: err.message, reason: err.reason }]
  if (err instanceof TestClusterError) {
    const status = err.reason === "Timeout" ? 504 : err.reason === "Invalid" ? 400 : 409
    return [status, { error: err.message, reason: err.reason }]
  }
  return [500, { error: errorMessage(err) }]
}
