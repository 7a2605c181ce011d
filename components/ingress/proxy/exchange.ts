import { splitKey } from "../../../pkg/client/informer.ts"
import { changedFields, changedTarget, locationOf, unchangedTrailers } from "../routing/changes.ts"
import {
  chooseByWeight,
  isRefusal,
  type Backend,
  type Changes,
  type Redirect,
  type Refusal,
  type Target,
} from "../routing/target.ts"
import { DEFAULT_POLICY, type Policy } from "../routing/policy.ts"
import { normalPath } from "../routing/normal-path.ts"
import type { Field, ResponseHead } from "../messages/head.ts"
import { answerFields, fieldOf, requestFields, trailerFields } from "../messages/fields.ts"
import {
  hasBody,
  type Downstream,
  type Endpoint,
  type IncomingRequest,
  type OutgoingRequest,
  type Upstream,
  type UpstreamHandlers,
} from "../messages/messages.ts"
import type { Copy } from "./mirrors.ts"
import { ownResponse } from "./own-response.ts"
import type { Watched } from "./watchdog.ts"
import type { ProxyParts } from "./proxy-parts.ts"

/** Methods that have the same effect when they are sent twice. Source: RFC 9110, 9.2.2. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

const NO_COPIES: readonly Copy[] = []
/** A rule without backends, or whose backends have no weight. Source: HTTPRouteRule.BackendRefs. */
const NO_BACKEND: Refusal = { status: 500, reason: "the rule has no backend" }

/**
 * One request and its response, between a client and a backend. Bodies are passed on part by part: while one side is
 * slow, the other is not read. Each method is called from an event of a socket and runs to its end without an await.
 */
export class Exchange implements Watched {
  due = Infinity
  place = -1
  readonly #parts: ProxyParts
  readonly #request: IncomingRequest
  readonly #client: Downstream
  readonly #startedAt: number
  #target: Target | undefined
  /** The backend that was chosen, with which the exchange stays. */
  #backend: Backend | undefined
  /** The path by which the request was routed. */
  #path = ""
  #policy: Policy = DEFAULT_POLICY
  /** When all of it must be over, on the watchdog's clock. */
  #deadline = Infinity
  #tried: Endpoint[] = []
  #attempts = 0
  #endpoint: Endpoint | undefined
  #upstream: Upstream | undefined
  #stopConnecting: (() => void) | undefined
  /** The copies of the request; undefined before the first attempt. */
  #copies: readonly Copy[] | undefined
  #status = 0
  #received = 0
  #sent = 0
  #requestComplete = false
  #answerComplete = false
  #isOver = false

  constructor(parts: ProxyParts, request: IncomingRequest, client: Downstream) {
    this.#parts = parts
    this.#request = request
    this.#client = client
    this.#startedAt = parts.watchdog.now
  }

  start(): void {
    const { target, framing, origin } = this.#request
    this.#parts.watchdog.add(this, Infinity)
    const path = normalPath(target)
    if (path === undefined) return this.#refuse(400, "the path leaves its root, or can be read in two ways")
    this.#path = path
    const routed = this.#parts.route(this.#request, path)
    if (isRefusal(routed)) return this.#refuse(routed.status, routed.reason)
    this.#target = routed
    this.#policy = routed.policy
    this.#deadline = this.#startedAt + this.#policy.requestMs
    if (this.#policy.redirectToHttps && !origin.isSecure) return this.#redirect(this.#toHttps())
    if (routed.redirect !== undefined) return this.#redirect(routed.redirect)
    if (framing.kind === "length" && framing.length > this.#policy.maxBodyBytes)
      return this.#refuse(413, "the body is larger than the Ingress allows")
    this.#backend = chooseByWeight(routed.backends, this.#parts.chance())
    this.#try()
  }

  // ---- called by the client's side ----

  /** A part of the request's body has arrived. */
  data(chunk: Buffer): void {
    if (this.#isOver || this.#upstream === undefined) return
    this.#received += chunk.length
    if (this.#received > this.#policy.maxBodyBytes && this.#status !== 101) {
      if (this.#status === 0) this.#refuse(413, "the body is larger than the Ingress allows")
      else this.#breakOff()
      return
    }
    this.#progressed()
    for (const copy of this.#copies ?? []) copy.data(chunk)
    if (!this.#upstream.write(chunk)) this.#client.receive(false)
  }

  /** The request's body is complete; after an upgrade: the client sends nothing more. */
  bodyEnd(trailers: readonly Field[]): void {
    if (this.#isOver || this.#requestComplete) return
    this.#requestComplete = true
    this.#progressed()
    const own = this.#passedOn(trailers, "request")
    for (const copy of this.#copies ?? []) copy.bodyEnd(own)
    this.#upstream?.end(own)
    if (this.#answerComplete) this.#finish()
  }

  /** The client can take more data. */
  clientDrained(): void {
    if (!this.#isOver) this.#upstream?.receive(true)
  }

  /** The client has disconnected; the backend's connection is ended. */
  clientGone(): void {
    if (this.#isOver) return
    if (this.#status === 0) this.#status = 499
    this.#finish()
  }

  // ---- called by the backend's side ----

  readonly #handlers: UpstreamHandlers = {
    head: (head) => {
      if (!this.#isOver) this.#head(head)
    },
    data: (chunk) => {
      if (this.#isOver) return
      this.#sent += chunk.length
      this.#progressed()
      this.#client.write(chunk)
    },
    end: (trailers) => {
      if (this.#isOver) return
      this.#client.end(this.#passedOn(trailers, "answer"))
      this.#answerComplete = true
      // The two directions of an upgraded connection end independently.
      if (this.#status !== 101 || this.#requestComplete) this.#finish()
    },
    flush: () => {
      if (!this.#isOver && !this.#client.flush()) this.#upstream?.receive(false)
    },
    drained: () => {
      if (!this.#isOver) this.#client.receive(true)
    },
    failed: (reason) => {
      if (!this.#isOver) this.#failed(reason)
    },
  }

  #head({ status, reason, fields, framing }: ResponseHead): void {
    this.#status = status
    this.#progressed()
    if (status !== 101) {
      const own = changedFields(answerFields(fields), this.#backend?.answer)
      return this.#client.respond({ status, reason, fields: changedFields(own, this.#target?.answer), framing })
    }
    const upgrade = fields.find(({ key }) => key === "upgrade")?.value ?? this.#request.upgrade ?? ""
    const changed = [...answerFields(fields), fieldOf("Connection", "Upgrade"), fieldOf("Upgrade", upgrade)]
    this.#requestComplete = false
    this.#client.respond({ status, reason, fields: changed, framing: { kind: "none" } })
    this.#client.receive(true)
  }

  #failed(reason: string): void {
    const upstream = this.#upstream
    this.#upstream = undefined
    if (this.#status !== 0) this.#breakOff()
    else if (this.#mayRepeat()) {
      // The backend may be healthy, and have closed the connection at the moment when it was used again.
      if (upstream?.isReused === true) this.#tried = this.#tried.filter((one) => one !== this.#endpoint)
      this.#retryOr(502, reason)
    } else this.#refuse(502, reason)
  }

  // ---- called by the watchdog ----

  overdue(): void {
    if (this.#isOver) return
    if (this.#status === 0 && this.#parts.watchdog.now >= this.#deadline) this.#refuse(504, "no answer in time")
    else if (this.#stopConnecting !== undefined) {
      this.#stopConnecting()
      this.#stopConnecting = undefined
      this.#retryOr(504, "no connection to an endpoint in time")
    } else if (this.#status === 0) this.#refuse(504, "no answer in time")
    else this.#breakOff()
  }

  #progressed(): void {
    const { idleMs, responseMs } = this.#policy
    this.#expect(this.#status === 0 ? responseMs : idleMs)
  }

  /** Upgraded connections may last as long as both sides like. */
  #expect(ms: number): void {
    const left = this.#status === 101 ? Infinity : this.#deadline - this.#parts.watchdog.now
    this.#parts.watchdog.expect(this, Math.max(0, Math.min(ms, left)))
  }

  // ---- steps ----

  #try(): void {
    const to = this.#backend?.to ?? NO_BACKEND
    if (isRefusal(to)) return this.#refuse(to.status, to.reason)
    const picked = this.#parts.pick(to, this.#tried, this.#request.origin.client)
    if (picked === undefined) {
      return this.#tried.length === 0
        ? this.#refuse(503, "the Service has no endpoint that is ready")
        : this.#refuse(502, "no endpoint could be reached")
    }
    this.#endpoint = picked.endpoint
    this.#attempts++
    this.#tried.push(picked.endpoint)
    this.#expect(this.#policy.connectMs)
    let connected = false
    const stop = this.#parts.connector.connect(picked.endpoint, picked.protocol, !this.#mayRepeat(), (result) => {
      connected = true
      this.#stopConnecting = undefined
      if (this.#isOver) {
        if (!(result instanceof Error)) result.abort()
      } else if (result instanceof Error) this.#retryOr(502, result.message)
      else this.#send(result)
    })
    if (!connected) this.#stopConnecting = stop
  }

  #send(upstream: Upstream): void {
    const { framing } = this.#request
    this.#upstream = upstream
    this.#progressed()
    upstream.send(this.#outgoing(this.#backend!), this.#handlers)
    if (this.#isOver || this.#upstream !== upstream) return
    this.#copies ??= this.#beginCopies()
    if (hasBody(framing)) {
      this.#client.receive(true)
      upstream.flush()
    } else this.bodyEnd([])
  }

  /** Returns the request with the changes of its rule, and of a backend. */
  #outgoing(own: Changes): OutgoingRequest {
    const { method, target, authority, fields, framing, upgrade, origin } = this.#request
    const { request, rewrite } = this.#target!
    const path = own.rewrite?.path ?? rewrite?.path
    return {
      method,
      target: path === undefined ? target : changedTarget(target, this.#path, path),
      authority: own.rewrite?.hostname ?? rewrite?.hostname ?? authority,
      fields: changedFields(changedFields(requestFields(fields, authority, origin), request), own.request),
      framing,
      upgrade,
      isSecure: origin.isSecure,
    }
  }

  #passedOn(trailers: readonly Field[], message: "request" | "answer"): readonly Field[] {
    if (trailers.length === 0) return trailers
    const kept = unchangedTrailers(trailerFields(trailers), this.#target?.[message])
    return unchangedTrailers(kept, this.#backend?.[message])
  }

  #beginCopies(): readonly Copy[] {
    const { owner, mirrors: ofRule = [] } = this.#target!
    const mirrors = [...ofRule, ...(this.#backend!.mirrors ?? [])]
    if (mirrors.length === 0) return NO_COPIES
    const { namespace = "" } = splitKey(owner.key)
    const { client } = this.#request.origin
    return this.#parts.mirrors.begin(mirrors, { namespace, client }, this.#outgoing({}))
  }

  /**
   * Whether a request that a backend may have received can be sent again: that is impossible once its body was passed
   * on.
   */
  #mayRepeat(): boolean {
    const { method, framing, upgrade } = this.#request
    return !hasBody(framing) && upgrade === undefined && IDEMPOTENT.has(method)
  }

  #retryOr(status: number, reason: string): void {
    if (this.#attempts > this.#policy.retries) this.#refuse(status, reason)
    else {
      this.#requestComplete = false
      this.#try()
    }
  }

  #toHttps(): Redirect {
    return { scheme: "https", port: this.#parts.httpsPort, status: 308 }
  }

  #redirect(redirect: Redirect): void {
    const location = locationOf(redirect, this.#request, this.#path)
    this.#refuse(redirect.status, "this is found elsewhere", [fieldOf("Location", location)])
  }

  /** Responds in place of a backend. */
  #refuse(status: number, reason: string, fields: readonly Field[] = []): void {
    this.#status = status
    const changed = changedFields(fields, this.#target?.redirect === undefined ? undefined : this.#target.answer)
    const { head, body } = ownResponse(this.#request.method, status, reason, changed)
    this.#client.respond(head)
    if (this.#isOver) return // the client's stream was closed already
    if (body !== undefined) this.#client.write(body)
    this.#client.end([])
    this.#finish()
  }

  #breakOff(): void {
    this.#client.abort()
    this.#finish()
  }

  #finish(): void {
    this.#isOver = true
    this.#parts.watchdog.remove(this)
    this.#stopConnecting?.()
    this.#upstream?.abort()
    this.#upstream = undefined
    for (const copy of this.#copies ?? []) copy.exchangeEnded()
    this.#parts.finished({
      request: this.#request,
      target: this.#target,
      backend: this.#backend,
      endpoint: this.#endpoint,
      status: this.#status,
      received: this.#received,
      sent: this.#sent,
      ms: this.#parts.watchdog.now - this.#startedAt,
    })
  }
}
