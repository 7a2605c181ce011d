import { closeSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { type Clock, microTimestamp } from "../../../pkg/clock/clock.ts"
import type { Status } from "../../../pkg/apimachinery/errors.ts"
import { formatDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { fileError } from "../../../pkg/files/files.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { RotatingFile, type RotationLimits } from "../../../pkg/log/rotating-file.ts"
import { remoteAddress } from "../../../pkg/runtime/http/listen.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { UserInfo } from "../call/request.ts"
import { AuditNotes } from "../call/audit-notes.ts"

/** Records requests: their users, what they asked for, and the results. */
export interface AuditSink {
  /** Called when a request begins. Returns where its stages note what its event shows. */
  began(): AuditNotes
  /** Called when the head of a response is sent that may last long: its end may never be seen. */
  started(exchange: Audited, info: RequestInfo, notes: AuditNotes, code: number): void
  ended(exchange: Audited, info: RequestInfo, notes: AuditNotes, outcome: Outcome): void
  /** Writes the events that are buffered. Later ones, of connections that end with the server, are written at once. */
  close(): void
}

/** What events show of a request as it was sent. */
export type Audited = Pick<Exchange, "req" | "auditId" | "header">

export interface Outcome {
  readonly code: number
  /** How long the response took; 0 for watches and streams. */
  readonly seconds: number
}

/**
 * Requests that take longer get a latency annotation. Source: apiserver pkg/audit/request.go writeLatencyToAnnotation.
 */
const SLOW_SECONDS = 0.5

type Stage = "ResponseStarted" | "ResponseComplete"

/** Events are buffered for this time at most. */
const FLUSH_MS = 100

/**
 * Opens the log once, so that a server that cannot write its audit log does not start.
 * @throws Error that names the file. Source: apiserver pkg/server/options/audit.go ensureLogFile.
 */
function ensureFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, "a", 0o600))
  } catch (err) {
    throw fileError("write the audit log", path, err)
  }
}

/** Where events are written. */
export interface AuditLogOptions extends RotationLimits {
  readonly path: string
}

/**
 * Creates the audit log of `--audit-log-path`: one Event of audit.k8s.io/v1 as a line of JSON for each request, at
 * level Metadata, written when the request ends. Watches and streams have another line, which is written when they
 * begin. Source: apiserver pkg/apis/audit/v1/types.go, pkg/endpoints/filters/audit.go.
 * @throws Error when the file cannot be written
 */
export function createAuditLog(
  { path, ...limits }: AuditLogOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): AuditSink {
  ensureFile(path)
  const file = new RotatingFile(path, limits, clock)
  let lines: string[] = []
  let isClosed = false
  const flush = () => {
    if (lines.length === 0) return
    const text = lines.join("")
    lines = []
    try {
      file.append(text)
      file.close() // so that others may put the file aside, too
    } catch (err) {
      // A full disk must not end the server, so the number of lost events is logged instead.
      log.error("Failed to write the audit log", { path, lost: text.split("\n").length - 1, error: err })
    }
  }
  const write = (exchange: Audited, info: RequestInfo, notes: AuditNotes, code: number, stage: Stage) => {
    const { req, auditId } = exchange
    const { sender, user, failure, annotations } = notes
    if (lines.length === 0 && !isClosed) clock.setTimeout(flush, FLUSH_MS)
    lines.push(
      JSON.stringify({
        kind: "Event",
        apiVersion: "audit.k8s.io/v1",
        level: "Metadata",
        auditID: auditId,
        stage,
        requestURI: req.url,
        verb: info.verb,
        user: sender === undefined ? {} : plain(sender),
        ...(user === undefined || user === sender ? {} : { impersonatedUser: plain(user) }),
        sourceIPs: [remoteAddress(req) ?? ""],
        userAgent: bounded(exchange.header("user-agent")),
        ...(info.isResource ? { objectRef: objectRefOf(info, notes.sent) } : {}),
        responseStatus:
          sender === undefined
            ? { metadata: {}, message: refusedEarly(exchange, failure), code }
            : { metadata: {}, ...responseStatusOf(failure), code },
        requestReceivedTimestamp: notes.received,
        stageTimestamp: microTimestamp(clock),
        ...(annotations === undefined ? {} : { annotations }),
      }) + "\n",
    )
    if (isClosed) flush()
  }
  return {
    began: () => new AuditNotes(microTimestamp(clock)),
    started(exchange, info, notes, code) {
      write(exchange, info, notes, code, "ResponseStarted")
      flush() // whoever begins a stream may end the server, too
    },
    ended(exchange, info, notes, { code, seconds }) {
      if (seconds > SLOW_SECONDS) notes.annotate("apiserver.latency.k8s.io/total", formatDuration(seconds * 1000))
      write(exchange, info, notes, code, notes.sender === undefined ? "ResponseStarted" : "ResponseComplete")
    },
    close() {
      isClosed = true
      flush()
    },
  }
}

/**
 * Returns the object that a request is about. What the path leaves open is taken from the object in the body. Source:
 * apiserver pkg/audit/request.go LogRequestObject.
 */
function objectRefOf({ group, version, resource, subresource, namespace, name }: RequestInfo, sent: unknown) {
  const metadata = (
    sent as
      | { readonly metadata?: Partial<Record<"name" | "namespace" | "uid" | "resourceVersion", unknown>> }
      | undefined
  )?.metadata
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined)
  return {
    resource,
    namespace: text(namespace) ?? text(metadata?.namespace),
    name: text(name) ?? text(metadata?.name),
    uid: text(metadata?.uid),
    apiGroup: text(group),
    apiVersion: version,
    resourceVersion: text(metadata?.resourceVersion),
    subresource: text(subresource),
  }
}

const LONGEST_USER_AGENT = 1024
const bounded = (agent: string | undefined): string | undefined =>
  agent === undefined || agent.length <= LONGEST_USER_AGENT
    ? agent
    : `${agent.slice(0, LONGEST_USER_AGENT)}...TRUNCATED`

/**
 * Why a request was refused before its user was known. Source: apiserver pkg/endpoints/filters/authn_audit.go,
 * request_deadline.go.
 */
function refusedEarly(exchange: Audited, failure: Status | undefined): string {
  return failure === undefined || failure.code === 401
    ? `Authentication failed, ${attempted(exchange)}`
    : (failure.message ?? "")
}

/**
 * Names the authentication method that a refused request tried. Source: apiserver pkg/endpoints/filters/authn_audit.go
 * getAuthMethods.
 */
function attempted({ req: { headers } }: Audited): string {
  const scheme = /^(basic|bearer) ./i.exec(headers.authorization?.trim() ?? "")?.[1]
  return scheme === undefined ? "no credentials provided" : `attempted: ${scheme.toLowerCase()}`
}

/** The fields of a Status that an event shows. Source: apiserver pkg/audit/request.go LogResponseObject. */
const responseStatusOf = (failure: Status | undefined) =>
  failure && { status: failure.status, message: failure.message, reason: failure.reason, details: failure.details }

const plain = ({ name, uid, groups, extra }: UserInfo) => ({ username: name, uid, groups, extra })
