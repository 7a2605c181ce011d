import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { pipeline } from "node:stream/promises"
import type { Logger } from "../../../pkg/log/log.ts"
import { onUnwantedUpgrade } from "../../../pkg/runtime/http/unwanted-upgrade.ts"
import type { RegistryTls } from "./registries.ts"
import { renaming, rewritten } from "./repository-names.ts"
import { trusting } from "../../../pkg/pki/trust.ts"
import { beginListening } from "../../../pkg/runtime/http/begin-listening.ts"

export interface RewritingProxyOptions {
  /** The endpoint that is asked, `https://registry.example.org:5000`, with or without a path. */
  readonly endpoint: URL
  readonly tls: RegistryTls | undefined
  readonly rewrite: Readonly<Record<string, string>>
  /** A word that must begin the path of a request, since every program of this machine reaches the port. */
  readonly secret: string
  readonly log: Logger
}

/** Longest wait for the endpoint's next bytes, in milliseconds. */
const IDLE_MS = 60_000

/**
 * Passes containerd's requests on to one endpoint of a mirror, with the name of the repository rewritten: containerd
 * itself cannot do that. It adds no credentials; containerd sends those for this address.
 * Differs from k3s, whose containerd is changed for it; the rules are the same. Source: k3s docs
 * installation/private-registry, Rewrites.
 */
export class RewritingProxy {
  readonly #options: RewritingProxyOptions
  readonly #rename: (repository: string) => string
  readonly #agent: http.Agent
  readonly #server: Server

  constructor(options: RewritingProxyOptions) {
    this.#options = options
    this.#rename = renaming(options.rewrite)
    const { endpoint, tls } = options
    this.#agent = endpoint.protocol === "http:" ? new http.Agent({ keepAlive: true }) : new https.Agent(secure(tls))
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((err: unknown) => this.#fail(request, response, err))
    })
  }

  /** The URL for containerd; after `start`. */
  get url(): string {
    return `http://${this.host}/${this.#options.secret}/v2`
  }

  /** Host and port of `url`. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves when it listens, on a free port of the loopback address. */
  start(): Promise<void> {
    return beginListening(this.#server, { port: 0, host: "127.0.0.1" })
  }

  stop(): Promise<void> {
    this.#agent.destroy()
    this.#server.closeAllConnections()
    return new Promise((resolve) => void this.#server.close(() => resolve()))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { endpoint, secret } = this.#options
    const path = pathAfter(`/${secret}/v2`, request.url ?? "")
    if (path === undefined || !["GET", "HEAD"].includes(request.method ?? "")) {
      response.writeHead(path === undefined ? 404 : 405).end()
      return
    }
    const base = endpoint.pathname.replace(/(?<!\/)\/+$/, "")
    const target = new URL(`${base === "" ? "/v2" : base}${rewritten(path, this.#rename)}`, endpoint)
    const answer = await this.#ask(request, response, target)
    const { location } = answer.headers
    try {
      response.writeHead(answer.statusCode ?? 502, {
        ...answer.headers,
        // A relative location would lead to this proxy.
        ...(location === undefined ? {} : { location: new URL(location, target).href }),
      })
    } catch (err) {
      answer.destroy()
      throw err
    }
    await pipeline(answer, response)
  }

  /** Asks the endpoint, until containerd has the answer or does not want it any more. */
  #ask(request: IncomingMessage, response: ServerResponse, target: URL): Promise<IncomingMessage> {
    const { connection: _, host: __, ...headers } = request.headers
    return new Promise((resolve, reject) => {
      const send = target.protocol === "http:" ? http.request : https.request
      const asked = send(target, { method: request.method, headers, agent: this.#agent, timeout: IDLE_MS })
      // The listener stays, since a failed connection can emit another error.
      asked.once("response", resolve).on("error", reject)
      onUnwantedUpgrade(asked, reject)
      asked.once("timeout", () => asked.destroy(new Error(`no answer within ${IDLE_MS / 1000} s`)))
      response.once("close", () => {
        if (!response.writableFinished) asked.destroy()
      })
      asked.end()
    })
  }

  #fail(request: IncomingMessage, response: ServerResponse, err: unknown): void {
    const { endpoint, log, secret } = this.#options
    const path = pathAfter(`/${secret}/v2`, request.url ?? "")
    log.warn("Failed to reach the mirror of a registry", { endpoint: endpoint.origin, path, err })
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  }
}

/** Returns the part of `url` behind `prefix`; undefined when it does not begin with it. */
function pathAfter(prefix: string, url: string): string | undefined {
  return url === prefix || url.startsWith(`${prefix}/`) || url.startsWith(`${prefix}?`)
    ? url.slice(prefix.length)
    : undefined
}

const secure = (tls: RegistryTls | undefined): https.AgentOptions => ({
  keepAlive: true,
  ...trusting(tls?.ca_file === undefined ? undefined : readFileSync(tls.ca_file, "utf8")),
  ...(tls?.cert_file === undefined ? {} : { cert: readFileSync(tls.cert_file) }),
  ...(tls?.key_file === undefined ? {} : { key: readFileSync(tls.key_file) }),
  rejectUnauthorized: tls?.insecure_skip_verify !== true,
})
