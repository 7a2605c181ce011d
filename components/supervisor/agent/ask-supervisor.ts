import { request, type RequestOptions } from "node:https"
import type { IncomingMessage } from "node:http"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { UpgradedConnection } from "../tunnel/tunnel-agent.ts"
import { trustingOnly } from "../../../pkg/pki/trust.ts"
import { onUnwantedUpgrade } from "../../../pkg/runtime/http/unwanted-upgrade.ts"

/** A request to the supervisor (agent-config.ts) of a server. */
export interface SupervisorCall {
  readonly clock: Pick<Clock, "setTimeout">
  /** The URL of the server, such as `https://192.0.2.1:6443`. */
  readonly server: string
  /** PEM of the CAs that may have signed the server's certificate. Without it the certificate is not checked. */
  readonly ca?: string
  /** PEM of a client certificate and its key. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs?: number
}

/** A server answered with a status that is no success. */
export class SupervisorRefused extends Error {
  override readonly name = "SupervisorRefused"
  readonly status: number

  constructor(server: string, status: number, text: string) {
    super(`${server} refuses: ${text.trim().slice(0, 500) || `status ${status}`}`)
    this.status = status
  }

  /** Whether the same request would be refused again, until an administrator changes something. */
  get isFinal(): boolean {
    return this.status < 500 && this.status !== 429 && this.status !== 408
  }
}

/**
 * The name of the Service `kubernetes`, which the certificate of every API server of k3ts has. Certificates are checked
 * for it instead of the address, because an API server may be reached by any address. Only API servers get this name.
 */
export const SERVER_NAME = "kubernetes"

const TIMEOUT_MS = 5000
const MOST_BYTES = 1024 * 1024

/**
 * Sends a request to the supervisor and returns the body of its answer. @throws SupervisorRefused; another Error when
 * no answer comes
 */
export function askSupervisor({
  server,
  ca,
  certificate,
  timeoutMs = TIMEOUT_MS,
  clock,
  ...call
}: SupervisorCall): Promise<string> {
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
    const timer = clock.setTimeout(() => req.destroy(new Error("it did not answer in time")), timeoutMs)
    req.once("response", (res: IncomingMessage) => {
      textOf(res).then((text) => {
        timer.cancel()
        if (res.statusCode === 200) resolve(text)
        else reject(new SupervisorRefused(server, res.statusCode ?? 0, text))
      }, fail)
    })
    req.on("error", fail)
    onUnwantedUpgrade(req, fail)
    req.end(body)
  })
}

/** Returns the options of a request that depend on the server only. */
function serverOptions(
  server: string,
  ca: string | undefined,
  certificate: SupervisorCall["certificate"],
): RequestOptions {
  const { hostname, port } = new URL(server)
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 443 : Number(port),
    agent: false,
    servername: SERVER_NAME,
    ...(ca === undefined ? { rejectUnauthorized: false } : trustingOnly(ca)),
    ...certificate,
  }
}

export interface SupervisorUpgrade extends Pick<SupervisorCall, "clock" | "server" | "path"> {
  readonly ca: string
  readonly certificate: { readonly cert: string; readonly key: string }
  readonly protocol: string
  readonly signal: AbortSignal
}

/**
 * Asks the supervisor to switch the connection to another protocol. @throws SupervisorRefused; another Error when no
 * answer comes
 */
export function upgradeAtSupervisor({
  clock,
  server,
  path,
  protocol,
  signal,
  ca,
  certificate,
}: SupervisorUpgrade): Promise<UpgradedConnection> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      timer.cancel()
      signal.removeEventListener("abort", abort)
    }
    const fail = (err: Error): void => {
      settle()
      reject(explained(server, err))
    }
    const abort = () => void req.destroy(new Error("the agent stops"))
    const headers = { Connection: "Upgrade", Upgrade: protocol }
    const req = request({ method: "GET", path, ...serverOptions(server, ca, certificate), headers })
    const timer = clock.setTimeout(() => req.destroy(new Error("it did not answer in time")), TIMEOUT_MS)
    req.once("upgrade", (_answer, socket, head) => {
      settle()
      resolve({ socket, head })
    })
    req.once("response", (res: IncomingMessage) => {
      textOf(res).then((text) => {
        settle()
        reject(new SupervisorRefused(server, res.statusCode ?? 0, text))
      }, fail)
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

/** Codes of errors of TLS about a certificate that no given CA has signed, or that is not one of an API server. */
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO|ALTNAME|SIGNATURE/

/** Returns whether a request failed because the server's certificate is not one of the cluster's API servers. */
export const isUntrusted = (err: unknown): boolean =>
  err instanceof Error && UNTRUSTED.test((err.cause as NodeJS.ErrnoException | undefined)?.code ?? "")

/** Returns an error that tells an administrator why a server cannot be reached, and what to do. */
function explained(server: string, err: Error): Error {
  const { code = "" } = err as NodeJS.ErrnoException
  const mend = /NOT_YET_VALID|EXPIRED/.test(code)
    ? "; compare the clocks of both machines"
    : UNTRUSTED.test(code)
      ? "; its certificate is not one of this cluster's API servers"
      : ""
  return new Error(`Cannot reach ${server}: ${err.message}${mend}`, { cause: err })
}
