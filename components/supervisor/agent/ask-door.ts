import { request, type RequestOptions } from "node:https"
import type { IncomingMessage } from "node:http"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { UpgradedConnection } from "../tunnel/tunnel-agent.ts"
import { onUnwantedUpgrade } from "../../../pkg/runtime/http/unwanted-upgrade.ts"

/** A request to the door of a server. */
export interface DoorCall {
  readonly clock: Pick<Clock, "setTimeout">
  /** Such as `https://192.0.2.1:6443`. */
  readonly server: string
  /** PEM of the authorities that the server may have its certificate from; without it any server is believed. */
  readonly ca?: string
  /** PEM of a client certificate and its key. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs?: number
}

/** A server answered with something else than success. */
export class DoorRefused extends Error {
  override readonly name = "DoorRefused"
  readonly status: number

  constructor(server: string, status: number, text: string) {
    super(`${server} refuses: ${text.trim().slice(0, 500) || `status ${status}`}`)
    this.status = status
  }

  /** Whether asking again later cannot help, unless somebody changes something. */
  get isFinal(): boolean {
    return this.status < 500 && this.status !== 429 && this.status !== 408
  }
}

/**
 * A name that every API server of ours has in its certificate, whatever the address is by which it is reached: that of
 * the Service `kubernetes`. Only API servers get it.
 */
export const SERVER_NAME = "kubernetes"

const TIMEOUT_MS = 5000
const MOST_BYTES = 1024 * 1024

/** Asks the door and returns what it says. @throws DoorRefused, or another Error where no answer comes */
export function askDoor({
  server,
  ca,
  certificate,
  timeoutMs = TIMEOUT_MS,
  clock,
  ...call
}: DoorCall): Promise<string> {
  const { body, headers = {} } = call
  return new Promise((resolve, reject) => {
    const fail = (err: Error): void => {
      timer.cancel()
      reject(explained(server, err))
    }
    const req = request({
      method: call.method,
      path: call.path,
      ...serverOptions(server, ca, certificate),
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
      },
    })
    const timer = clock.setTimeout(() => req.destroy(new Error("it does not answer in time")), timeoutMs)
    req.once("response", (res: IncomingMessage) => {
      textOf(res).then((text) => {
        timer.cancel()
        if (res.statusCode === 200) resolve(text)
        else reject(new DoorRefused(server, res.statusCode ?? 0, text))
      }, fail)
    })
    req.on("error", fail)
    onUnwantedUpgrade(req, fail)
    req.end(body)
  })
}

/** Returns what a request to a server needs besides what is asked. */
function serverOptions(server: string, ca: string | undefined, certificate: DoorCall["certificate"]): RequestOptions {
  const { hostname, port } = new URL(server)
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 443 : Number(port),
    agent: false,
    servername: SERVER_NAME,
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
    ...certificate,
  }
}

export interface DoorUpgrade extends Pick<DoorCall, "clock" | "server" | "path"> {
  readonly ca: string
  readonly certificate: { readonly cert: string; readonly key: string }
  readonly protocol: string
  readonly signal: AbortSignal
}

/** Asks the door to leave HTTP for another protocol. @throws DoorRefused, or another Error where no answer comes */
export function upgradeAtDoor({
  clock,
  server,
  path,
  protocol,
  signal,
  ca,
  certificate,
}: DoorUpgrade): Promise<UpgradedConnection> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener("abort", abort)
    }
    const fail = (err: Error): void => {
      done()
      reject(explained(server, err))
    }
    const abort = () => void req.destroy(new Error("the agent stops"))
    const headers = { Connection: "Upgrade", Upgrade: protocol }
    const req = request({ method: "GET", path, ...serverOptions(server, ca, certificate), headers })
    const timer = clock.setTimeout(() => req.destroy(new Error("it does not answer in time")), TIMEOUT_MS)
    req.once("upgrade", (_answer, socket, head) => {
      done()
      resolve({ socket, head })
    })
    req.once("response", (res: IncomingMessage) => {
      textOf(res).then((text) => fail(new DoorRefused(server, res.statusCode ?? 0, text)), fail)
    })
    req.on("error", fail)
    signal.addEventListener("abort", abort, { once: true })
    req.end()
    if (signal.aborted) abort()
  })
}

async function textOf(res: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of res as AsyncIterable<Buffer>) {
    if ((length += chunk.length) > MOST_BYTES) throw new Error(`the answer is longer than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

/** What an administrator is told where a server cannot be spoken to. */
function explained(server: string, err: Error): Error {
  const { code = "" } = err as NodeJS.ErrnoException
  const mend = /NOT_YET_VALID|EXPIRED/.test(code)
    ? "; compare the clocks of both machines"
    : /SELF_SIGNED|UNABLE_TO|ALTNAME|SIGNATURE/.test(code)
      ? "; its certificate is not one of this cluster's API servers"
      : ""
  return new Error(`Cannot reach ${server}: ${err.message}${mend}`, { cause: err })
}
