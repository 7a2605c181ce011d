import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { formatDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { microTimestamp, type Clock } from "../../../pkg/clock/clock.ts"
import { AuditNotes, type AuditStage } from "../call/audit-notes.ts"
import type { UserInfo } from "../call/request.ts"
import { allKept, type AuditBackend } from "./audit-backend.ts"
import { AuditEvent, auditedName, type AuditedInfo } from "./audit-event.ts"
import type { AuditMetrics } from "./audit-metrics.ts"
import type { AuditRules } from "./audit-rules.ts"
import type { Audited } from "./audited.ts"

/** What a request line says, as far as the policy and the events ask. */
export type AuditInfo = AuditedInfo & { readonly path: string }

/** Records requests: their users, what they asked for, and the results. */
export interface AuditSink {
  /** Called when a request begins. Returns where its stages note what its events show. */
  began(): AuditNotes
  /**
   * Called when the sender of a request is known. Returns a promise where the request has to wait for a backend.
   * @throws ApiError InternalError, at once or through the promise, where the request must not go on without its event
   */
  received(request: Audited, info: AuditInfo, notes: AuditNotes): void | Promise<void>
  /** Called when the head of a response is sent that may last long: its end may never be seen. */
  started(request: Audited, info: AuditInfo, notes: AuditNotes, code: number): void
  ended(request: Audited, info: AuditInfo, notes: AuditNotes, outcome: Outcome): void
  /** Writes what is buffered. Later events, of connections that end with the server, are written at once. */
  close(): Promise<void>
}

export interface Outcome {
  readonly code: number
  /** How long the response took; 0 for watches and streams. */
  readonly seconds: number
}

/**
 * Requests that take longer get a latency annotation. Source: apiserver pkg/endpoints/filters/audit.go
 * writeLatencyToAnnotation.
 */
const SLOW_SECONDS = 0.5

export interface AuditSinkParts {
  readonly rules: AuditRules
  readonly backends: readonly AuditBackend[]
  readonly metrics: AuditMetrics
  readonly clock: Clock
}

/**
 * Returns what makes the events of requests and passes them to the backends: at each stage that the policy does not
 * omit. Source: apiserver pkg/endpoints/filters/audit.go, pkg/audit/context.go.
 *
 * Differs from upstream: a server in a blocking mode waits for its backends before it begins a request, but not before
 * it sends the response, whose event is made when the response has been sent.
 */
export function auditSink({ rules, backends, metrics, clock }: AuditSinkParts): AuditSink {
  function decide(info: AuditInfo, notes: AuditNotes, user: UserInfo | undefined): void {
    const { verb, group, version, resource, subresource, namespace, path } = info
    const name = auditedName(info)
    notes.decision = rules(
      info.isResource ? { user, verb, group, version, resource, subresource, namespace, name } : { user, verb, path },
    )
    metrics.level(notes.decision.level)
  }

  /** Returns whether each backend keeps the event. */
  function process(
    stage: AuditStage,
    request: Audited,
    info: AuditInfo,
    notes: AuditNotes,
    code?: number,
  ): boolean | Promise<boolean> {
    const { decision } = notes
    if (decision === undefined || decision.level === "None" || decision.omitStages.has(stage)) return true
    const at = stage === "RequestReceived" ? notes.received : microTimestamp(clock)
    const events = [AuditEvent.of({ request, info, notes, stage, at, code })]
    metrics.event()
    return allKept(backends.map((backend) => backend.process(events)))
  }

  function refuseUnless(isKept: boolean): void {
    if (isKept) return
    metrics.rejected()
    throw new ApiError("InternalError", "failed to store audit event")
  }

  return {
    began: () => new AuditNotes(microTimestamp(clock)),
    received(request, info, notes) {
      decide(info, notes, notes.sender)
      const kept = process("RequestReceived", request, info, notes)
      return typeof kept === "boolean" ? refuseUnless(kept) : kept.then(refuseUnless)
    },
    started(request, info, notes, code) {
      if (notes.decision === undefined) decide(info, notes, notes.sender)
      void process("ResponseStarted", request, info, notes, code)
    },
    ended(request, info, notes, { code, seconds }) {
      // A request whose sender was never known has one event. Source: authn_audit.go, request_deadline.go.
      const isUnknown = notes.sender === undefined
      if (notes.decision === undefined) {
        decide(info, notes, notes.sender)
        // The response was sent before the policy was asked.
        if (notes.showsResponse && notes.status !== undefined) notes.responseObject = JSON.stringify(notes.status)
      }
      if (seconds > SLOW_SECONDS) notes.annotate("apiserver.latency.k8s.io/total", formatDuration(seconds * 1000))
      const stage = isUnknown ? "ResponseStarted" : notes.panic === undefined ? "ResponseComplete" : "Panic"
      void process(stage, request, info, notes, code)
    },
    async close() {
      await Promise.all(backends.map(async (backend) => backend.close()))
    },
  }
}
