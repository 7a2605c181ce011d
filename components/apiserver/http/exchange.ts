import type { OutgoingHttpHeaders } from "node:http"
import { gzip } from "node:zlib"
import type { Status } from "../../../pkg/apimachinery/errors.ts"
import { answer, isHttp2, type ServerAnswer, type ServerRequest } from "../../../pkg/runtime/listen.ts"
import type { Duplex } from "node:stream"
import type { Classification } from "../flowcontrol/flow-control.ts"
import type { UserInfo } from "../request.ts"
import type { RequestInfo } from "./request-info.ts"
import type { UpgradeAnswer } from "../../../pkg/runtime/upgrade-answer.ts"
import { Warnings } from "./warnings.ts"

/** The raw connection of a request that asks to leave HTTP. */
export interface Upgrade {
  readonly socket: Duplex
  /** What the client has sent already after the head of the request. */
  readonly head: Buffer
  readonly answer: UpgradeAnswer
}

/**
 * Answers smaller than this are not worth compressing. Source: responsewriters/writers.go defaultGzipThresholdBytes.
 */
const GZIP_FROM_BYTES = 128 * 1024

const NO_BODY = new Uint8Array()

/** One request under way and the answer to it: what the stages of server.ts hand on. */
export class Exchange {
  readonly req: ServerRequest
  readonly res: ServerAnswer
  /** Names the request in the answer's Audit-Id, the audit log and error logs. */
  readonly auditId: string
  /** Milliseconds of the monotonic clock. */
  readonly began: number
  readonly upgrade: Upgrade | undefined
  /** Filled in by the stages, in this order. The user is another than the sender where that one impersonates. */
  info: RequestInfo | undefined
  sender: UserInfo | undefined
  user: UserInfo | undefined
  /** What the client sent after the head, where the verb has a body. */
  body: Uint8Array = NO_BODY
  /** The object in the body. */
  sent: unknown
  /** What the client is told that went wrong. */
  failure: Status | undefined
  /** How long the request may take, from `began`; undefined for watches and streams. */
  timeoutMs: number | undefined
  /** The sender may ask, and there is something that answers. */
  isServed = false
  /** By which FlowSchema and at which priority level it is served; undefined without priority and fairness. */
  classification: Classification | undefined
  /** It has been answered, counted and written down, or its time was up: what comes now is too late. */
  isOver = false
  /** Of the audit event; absent where none is written. */
  annotations: Record<string, string> | undefined
  private warnings: Warnings | undefined
  constructor(req: ServerRequest, res: ServerAnswer, auditId: string, began: number, upgrade?: Upgrade) {
    this.upgrade = upgrade
    this.req = req
    this.res = res
    this.auditId = auditId
    this.began = began
  }

  /** A Warning header on the answer; the same text is told once. */
  readonly warn = (text: string): void => {
    this.warnings ??= new Warnings()
    this.warnings.add(text)
  }

  /** Notes something in the audit event. Whoever comes first with a key is right, as upstream has it. */
  readonly annotate = (key: string, value: string): void => {
    if (this.annotations !== undefined) this.annotations[key] ??= value
  }

  /** Notes something in the audit event; absent where none is written. */
  get annotator(): ((key: string, value: string) => void) | undefined {
    return this.annotations === undefined ? undefined : this.annotate
  }

  header(name: string): string | undefined {
    const value = this.req.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  /** The headers that every answer of the API carries. */
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
    if (this.warnings !== undefined) headers["Warning"] = this.warnings.headers()
    return headers
  }

  /**
   * Answers with `body`, compressed when it is big and the client reads that. A HEAD request gets the headers alone.
   */
  send(code: number, contentType: string, body: Uint8Array | string, more?: OutgoingHttpHeaders): void {
    const { req, res } = this
    if (res.headersSent || res.destroyed) return
    const headers = more === undefined ? this.headers(contentType) : { ...this.headers(contentType), ...more }
    if (req.method === "HEAD") {
      res.writeHead(code, { ...headers, "Content-Length": String(Buffer.byteLength(body)) })
      res.end()
    } else if (body.length > GZIP_FROM_BYTES && acceptsGzip(this.header("accept-encoding"))) {
      gzip(body, { level: 1 }, (err, packed) => {
        if (res.destroyed) return
        if (err === null) answer(res, code, { ...headers, "Content-Encoding": "gzip", Vary: "Accept-Encoding" }, packed)
        else answer(res, code, headers, body)
      })
    } else answer(res, code, headers, body)
  }

  /** 304: no body, and no type, which a client's cache would take for the type of what it has. */
  sendUnchanged(): void {
    const { res } = this
    if (res.headersSent || res.destroyed) return
    const { "Content-Type": _, ...headers } = this.headers("")
    res.writeHead(304, headers)
    res.end()
  }

  sendJson(code: number, value: unknown): void {
    this.send(
      code,
      "application/json",
      this.pretty() ? JSON.stringify(value, undefined, 2) + "\n" : JSON.stringify(value) + "\n",
    )
  }

  sendText(code: number, text: string, more?: OutgoingHttpHeaders): void {
    if (!this.res.headersSent) this.res.setHeader("X-Content-Type-Options", "nosniff")
    this.send(code, "text/plain; charset=utf-8", text, more)
  }

  /** A failed request's answer: in JSON, or as it has been encoded. */
  sendStatus(status: Status, encoded?: { readonly contentType: string; readonly bytes: Uint8Array | string }): void {
    const { res } = this
    if (status.details?.retryAfterSeconds !== undefined && !res.headersSent)
      res.setHeader("Retry-After", String(status.details.retryAfterSeconds))
    // The client may never send what is missing of its body.
    if (status.code === 504 && !isHttp2(res) && !res.headersSent) res.setHeader("Connection", "close")
    if (encoded === undefined) this.sendJson(status.code ?? 500, status)
    else this.send(status.code ?? 500, encoded.contentType, encoded.bytes)
  }

  /**
   * Whether a person reads the answer: asked for, or a client that people use by hand. Source: negotiate.go
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
