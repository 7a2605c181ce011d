import { auditedExchange } from "../audit/audited.ts"
import type { AuditSink } from "../audit/audit-sink.ts"
import type { AuthenticatedCall } from "./call.ts"
import type { Stage } from "./stage.ts"

/**
 * Returns the stage that asks the audit policy about a request, and makes its first event. A request waits here for
 * backends in a blocking mode, and ends here if it must have an event and cannot.
 */
export function audited(audit: AuditSink): Stage<AuthenticatedCall, AuthenticatedCall> {
  return (call, proceed) => {
    const { exchange, info } = call
    const { notes } = exchange
    if (notes === undefined) return proceed(call)
    const kept = audit.received(auditedExchange(exchange), info, notes)
    return kept === undefined ? proceed(call) : kept.then(() => proceed(call))
  }
}
