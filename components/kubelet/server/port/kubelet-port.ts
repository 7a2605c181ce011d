import type { TlsProfile } from "../../../../pkg/runtime/http/tls-profile.ts"
import type { Duplex } from "node:stream"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { serveKubeletStream, streamTargetOf, type StreamUpgrade } from "../../../../pkg/component/kubelet-streams.ts"
import type { NodeConnector } from "../../../../pkg/component/node-connector.ts"
import { FairShare } from "../../../../pkg/flow/fair-share.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import {
  answer,
  listenTls,
  ownConnection,
  peerCertificate,
  stopReceiving,
  type Certificates,
} from "../../../../pkg/runtime/http/listen.ts"
import type { ServerAnswer, ServerRequest } from "../../../../pkg/runtime/http/server-request.ts"
import { openFilesLimit } from "../../../../pkg/runtime/open-files.ts"
import { passOn } from "../../../../pkg/runtime/http/pass-on.ts"
import { UpgradeAnswer } from "../../../../pkg/runtime/http/upgrade-answer.ts"
import { headerList, isWebSocket } from "../../../../pkg/streaming/upgrade.ts"
import { kubeletAuthenticator, type KubeletUser } from "./authentication.ts"
import { kubeletAuthorizer, rightsFor } from "./authorization.ts"

/** Where the kubelet's own API is served, and by which certificate. */
export interface KubeletServing {
  readonly host: string
  readonly port: number
  /** The certificate that is to be shown now, made anew where the last one ends before long, and whose are taken. */
  certificates(): Certificates
  /** Calls `listener` when there is another certificate, until the function that it returns is called. */
  readonly onRenewed?: (listener: () => void) => () => void
  /** Is told the port when it is open: with `port` 0 it is one that was free. */
  readonly onPort?: (port: number) => void
}

export interface KubeletPortOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly nodeName: string
  readonly serving: KubeletServing
  readonly connector: NodeConnector
  readonly tlsProfile?: TlsProfile | undefined
  /** A pod that is to run here. */
  readonly podOf: (namespace: string, name: string) => Pod | undefined
}

export interface KubeletPort {
  readonly port: number
  stop(): Promise<void>
}

/** Connections at once, less where few files may be open; and requests under way, shared among users. */
const MOST_CONNECTIONS = 1024
const PART_OF_OPEN_FILES = 0.1
const MOST_REQUESTS = 256
/** How often the certificate is looked at. */
const LOOK_MS = 12 * 3_600_000
const STOP_GRACE_MS = 1000
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

/**
 * Serves the kubelet's own paths on a port of the node, over HTTPS: certificates and tokens say who asks, the API
 * server whose tokens are good and who may what. Source: pkg/kubelet/server/server.go ListenAndServeKubeletServer,
 * InstallAuthFilter.
 * @throws Error that names the address where it cannot be listened on
 */
export async function openKubeletPort(options: KubeletPortOptions): Promise<KubeletPort> {
  const { client, clock, log, nodeName, serving, connector, podOf, tlsProfile } = options
  let certificates = serving.certificates()
  const authenticate = kubeletAuthenticator({ client, clock, clientCa: () => certificates.clientCa })
  const isAllowed = kubeletAuthorizer({ client, clock, nodeName })
  const underWay = new FairShare(MOST_REQUESTS)

  async function serve(req: ServerRequest, res: ServerAnswer, upgrade: StreamUpgrade | undefined): Promise<void> {
    const { method = "GET", headers } = req
    const user = await authenticate({
      certificate: peerCertificate(req),
      authorization: headers.authorization,
      protocols: upgrade !== undefined && isWebSocket(req) ? headerList(headers["sec-websocket-protocol"]) : [],
    })
    if (user === undefined) throw new ApiError("Unauthorized", "Unauthorized")
    if (!ownConnection(req, user.name, false) || !underWay.take(user.name))
      throw new ApiError("TooManyRequests", "Too many requests, please try again later.")
    try {
      const url = urlOf(req)
      await authorize(user, method, url.pathname)
      await handle(req, res, url, upgrade)
    } finally {
      underWay.giveBack(user.name)
    }
  }

  async function authorize(user: KubeletUser, method: string, path: string): Promise<void> {
    for (const rights of rightsFor(method, path)) {
      let allowed = false
      for (const right of rights) if (!allowed) allowed = await isAllowed(user, right)
      if (allowed) continue
      const [{ verb }, names] = [rights[0]!, rights.map(({ subresource }) => subresource)]
      throw new ApiError(
        "Forbidden",
        `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${names.join(" ")}])`,
      )
    }
  }

  async function handle(
    { method = "GET" }: ServerRequest,
    res: ServerAnswer,
    url: URL,
    upgrade: StreamUpgrade | undefined,
  ): Promise<void> {
    const stream = method === "GET" || method === "POST" ? streamTargetOf(url.pathname) : undefined
    if (stream !== undefined) {
      const pod = podOf(stream.namespace, stream.pod)
      return serveKubeletStream(stream, url.searchParams, { pod, connector, upgrade })
    }
    if (!METHODS.includes(method)) throw new ApiError("MethodNotAllowed", "Method Not Allowed")
    const gone = new AbortController()
    res.once("close", () => gone.abort())
    const asked = new Request(url, { method: method === "HEAD" ? "GET" : method, signal: gone.signal })
    await send(await connector.proxy!(asked), res, method === "HEAD")
  }

  const run = (req: ServerRequest, res: ServerAnswer, upgrade?: StreamUpgrade): void => {
    serve(req, res, upgrade)
      .catch((err: unknown) => fail(res, err))
      .then(() => stopReceiving(req, res))
      .catch(() => void res.destroy())
  }

  function fail(res: ServerAnswer, err: unknown): void {
    const { code, message } = ApiError.from(err)
    if (res.headersSent) return void res.destroy()
    if (code >= 500) log.debug("The kubelet cannot answer a request", { err })
    answer(res, code, TEXT, `${message}\n`)
  }

  const listener = await listenTls({
    tlsProfile,
    host: serving.host,
    port: serving.port,
    ...certificates,
    limits: { most: Math.min(MOST_CONNECTIONS, Math.floor(PART_OF_OPEN_FILES * openFilesLimit())) },
    onRequest: (req, res) => run(req, res),
    onUpgrade(req, socket: Duplex, head) {
      const res = new UpgradeAnswer(socket)
      run(req, res, { req, socket, head, upgraded: () => res.upgraded() })
    },
  })
  serving.onPort?.(listener.port)
  log.info("The kubelet listens", { address: serving.host, port: listener.port })

  let timer: Timer
  const check = (): void => {
    try {
      const fresh = serving.certificates()
      if (fresh.cert !== certificates.cert) listener.setCertificates((certificates = fresh))
    } catch (err) {
      log.error("Failed to renew the certificate of the kubelet; will retry", { err, waitMs: LOOK_MS })
    }
  }
  const lookLater = (): void => {
    timer = clock.setTimeout(
      () => {
        check()
        lookLater()
      },
      LOOK_MS,
      "upkeep",
    )
  }
  lookLater()
  const unsubscribe = serving.onRenewed?.(check)
  return {
    port: listener.port,
    stop() {
      timer.cancel()
      unsubscribe?.()
      return listener.stop({ graceMs: STOP_GRACE_MS })
    },
  }
}

const TEXT = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" }

function urlOf({ url = "/" }: ServerRequest): URL {
  try {
    // Dots are resolved here, once: what is authorized is what is served.
    return new URL(`http://node${url.startsWith("/") ? url : `/${url}`}`)
  } catch {
    throw new ApiError("BadRequest", "invalid request target")
  }
}

async function send({ status, headers, body }: Response, res: ServerAnswer, isHead: boolean): Promise<void> {
  const [type, allow] = [headers.get("content-type") ?? TEXT["Content-Type"], headers.get("allow")]
  const head = { ...TEXT, "Content-Type": type, ...(allow === null ? {} : { Allow: allow }) }
  if (isHead || body === null) {
    await body?.cancel()
    res.writeHead(status, head)
    return void res.end()
  }
  res.writeHead(status, head)
  await passOn(body, res)
}
