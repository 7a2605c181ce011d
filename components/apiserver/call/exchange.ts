import type { OutgoingHttpHeaders } from "node:http"
import { gzip } from "node:zlib"
import type { Status } from "../../../pkg/apimachinery/errors.ts"
import { answer, isHttp2 } from "../../../pkg/runtime/http/listen.ts"
import type { ServerAnswer, ServerRequest } from "../../../pkg/runtime/http/server-request.ts"
import type { Duplex } from "node:stream"
import type { Annotate } from "./annotate.ts"
import type { AuditNotes } from "./audit-notes.ts"
import type { TraceSpan } from "../../../pkg/tracing/tracing.ts"
import type { Classification } from "./classification.ts"
import type { RequestInfo } from "./request-info.ts"
import type { UpgradeAnswer } from "../../../pkg/runtime/http/upgrade-answer.ts"
import { Warnings } from "./warnings.ts"

/** The raw connection of a request that asks for another protocol. */
export interface Upgrade {
  readonly socket: Duplex
  /** Bytes that the client sent after the head of the request. */
  readonly head: Buffer
  readonly answer: UpgradeAnswer
}

/** Smaller responses are not compressed. Source: responsewriters/writers.go defaultGzipThresholdBytes. */
const GZIP_FROM_BYTES = 128 * 1024

export interface ExchangeParts {
  readonly req: ServerRequest
  readonly res: ServerAnswer
  /** Identifies the request in the response's Audit-Id, the audit log and error logs. */
  readonly auditId: string
  /** Start of the request in milliseconds of the monotonic clock. */
  readonly began: number
  readonly upgrade: Upgrade | undefined
}

/**
 * One HTTP request and its response. What the request says is fixed; what a stage finds out goes to the next stage as
 * an argument. Only what shows in the response or at the end of the request is noted here by the stages.
 */
export class Exchange {
  readonly req: ServerRequest
  readonly res: ServerAnswer
  readonly auditId: string
  readonly began: number
  readonly upgrade: Upgrade | undefined
  /** What the request line says; undefined if it is malformed. */
  readonly info: RequestInfo | undefined
  /** What the audit event will show; undefined when no audit log is written. */
  readonly notes: AuditNotes | undefined
  /** Whether the request is authorized and some handler serves it. */
  isServed = false
  /** Whether the request has been answered, counted and audited, or has timed out. Later results are dropped. */
  isOver = false
  /** The span of the request; undefined unless traces are wanted, and before the sender is known. */
  span: TraceSpan | undefined
  /** Milliseconds that the request has waited for webhooks and for its turn. */
  waitedMs = 0
  /** Whether the server has ended the request to protect itself. */
  isTerminated = false
  /** The length of the answer's body before compression; 0 where it is not known. */
  sentBytes = 0
  private classification: Classification | undefined
  private warnings: Warnings | undefined

  constructor(parts: ExchangeParts, info: RequestInfo | undefined, notes: AuditNotes | undefined) {
    this.req = parts.req
    this.res = parts.res
    this.auditId = parts.auditId
    this.began = parts.began
    this.upgrade = parts.upgrade
    this.info = info
    this.notes = notes
  }

  /** Adds headers with the FlowSchema and priority level of the request to the response. */
  classified(classification: Classification): void {
    this.classification = classification
  }

  /** Adds a Warning header to the response; each text once. */
  readonly warn = (text: string): void => {
    this.warnings ??= new Warnings()
    this.warnings.add(text)
  }

  /** Notes milliseconds that the request waited for others. */
  readonly waited = (ms: number): void => {
    this.waitedMs += ms
  }

  /** Adds an annotation to the audit event; undefined when no audit log is written. */
  get annotate(): Annotate | undefined {
    return this.notes?.annotate
  }

  header(name: string): string | undefined {
    const value = this.req.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  /** Returns the headers that every response of the API has. */
  headers(contentType: string): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = {
      "Audit-Id": this.auditId,
      "Cache-Control": "no-cache, private",
      "Content-Type": contentType,
    }
    if (this.classification !== undefined) {
      headers["X-Kubernetes-PF-FlowSchema-UID"] = this.classification.schemaUid
      headers["X-Kubernetes-PF-PriorityLevel-UID"] = this.classification.levelUid
    }
    if (this.warnings !== undefined) headers["Warning"] = this.warnings.headers(isHttp2(this.res))
    return headers
  }

  /**
   * Sends the response, compressed when it is large and the client accepts that. The response to HEAD has headers only.
   */
  send(code: number, contentType: string, body: Uint8Array | string, more?: OutgoingHttpHeaders): void {
    const { req, res } = this
    if (res.headersSent || res.destroyed) return
    this.sentBytes = body.length
    const headers = more === undefined ? this.headers(contentType) : { ...this.headers(contentType), ...more }
    if (req.method === "HEAD") {
      res.writeHead(code, { ...headers, "Content-Length": String(Buffer.byteLength(body)) })
      res.end()
    } else if (body.length > GZIP_FROM_BYTES && acceptsGzip(this.header("accept-encoding"))) {
      gzip(body, { level: 1 }, (err, packed) => {
        if (res.destroyed) return
        if (err !== null) return answer(res, code, headers, body)
        // A client that keeps responses must still see that this one depends on `Accept`.
        const vary = [headers["Vary"] ?? [], "Accept-Encoding"].flat().join(", ")
        answer(res, code, { ...headers, "Content-Encoding": "gzip", Vary: vary }, packed)
      })
    } else answer(res, code, headers, body)
  }

  /**
   * Sends 304, without a body and without a type, which a cache would take for the type of the cached body. A cache
   * takes the headers of `more` over.
   */
  sendUnchanged(more?: OutgoingHttpHeaders): void {
    const { res } = this
    if (res.headersSent || res.destroyed) return
    const { "Content-Type": _, ...headers } = this.headers("")
    res.writeHead(304, { ...headers, ...more })
    res.end()
  }

  sendJson(code: number, value: unknown, more?: OutgoingHttpHeaders): void {
    this.send(
      code,
      "application/json",
      this.pretty() ? JSON.stringify(value, undefined, 2) + "\n" : JSON.stringify(value) + "\n",
      more,
    )
  }

  sendText(code: number, text: string, more?: OutgoingHttpHeaders): void {
    this.send(code, "text/plain; charset=utf-8", text, { "X-Content-Type-Options": "nosniff", ...more })
  }

  /** Sends a Status, as JSON or already encoded. */
  sendStatus(status: Status, encoded?: { readonly contentType: string; readonly bytes: Uint8Array | string }): void {
    const { res } = this
    const seconds = status.details?.retryAfterSeconds
    const more = seconds === undefined ? undefined : { "Retry-After": String(seconds) }
    // The rest of the body may never come, so the connection is closed.
    if (status.code === 504 && !isHttp2(res) && !res.headersSent) res.setHeader("Connection", "close")
    if (encoded === undefined) this.sendJson(status.code ?? 500, status, more)
    else this.send(status.code ?? 500, encoded.contentType, encoded.bytes, more)
  }

  /**
   * Whether JSON is indented: if the query asks for it, or for curl, wget and browsers. Source: negotiate.go
   * isPrettyPrint.
   */
  pretty(): boolean {
    const asked = this.info?.query.get("pretty")
    if (asked !== undefined && asked !== "") return asked === "true" || asked === "1"
    const agent = this.header("user-agent")
    return (
      agent !== undefined && (agent.startsWith("curl") || agent.startsWith("Wget") || agent.startsWith("Mozilla/5.0"))
    )
  }
}

export const acceptsGzip = (header: string | undefined): boolean =>
  header !== undefined &&
  header.split(",").some((part) => {
    const [coding = "", q] = part.split(";")
    return coding.trim() === "gzip" && q?.trim() !== "q=0"
  })
