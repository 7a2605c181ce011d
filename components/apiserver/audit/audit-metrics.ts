import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { AuditLevel } from "../call/audit-notes.ts"

/** Source: apiserver pkg/audit/metrics.go. */
export interface AuditMetrics {
  /** Counts an event that is passed to the backends. */
  event(): void
  /** Counts events that a backend, or what stands before it, has lost. */
  lost(plugin: "buffered" | "truncate" | "log" | "webhook", events: number): void
  /** Counts a request by what the policy says of it. */
  level(level: AuditLevel): void
  /** Counts a request that is refused since its event cannot be stored. */
  rejected(): void
}

export function auditMetrics(registry: Registry): AuditMetrics {
  const events = registry
    .counter("apiserver_audit_event_total", "Audit events that were made and sent to the audit backends.")
    .with()
  const errors = registry.counter("apiserver_audit_error_total", "Audit events that were lost, by plugin.", "plugin")
  const levels = registry.counter("apiserver_audit_level_total", "Requests, by the level of their audit.", "level")
  const rejected = registry
    .counter("apiserver_audit_requests_rejected_total", "Requests refused since their event could not be stored.")
    .with()
  return {
    event: () => events.inc(),
    lost: (plugin, count) => errors.with(plugin).inc(count),
    level: (level) => levels.with(level).inc(),
    rejected: () => rejected.inc(),
  }
}
