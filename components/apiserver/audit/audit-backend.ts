import type { AuditEvent } from "./audit-event.ts"

/** Where audit events go. Source: apiserver pkg/audit/types.go Backend. */
export interface AuditBackend {
  /** Takes events. Returns, or resolves to, whether they are kept. Never throws. */
  process(events: readonly AuditEvent[]): boolean | Promise<boolean>
  /**
   * Called when the server has stopped: what is still held is written or sent. Events of connections that end later may
   * still come, and are written at once where that is possible.
   */
  close(): void | Promise<void>
}

/** When a server waits for a backend: never, or until an event is kept; strict refuses requests whose event is not. */
export const AUDIT_MODES = ["batch", "blocking", "blocking-strict"] as const
export type AuditMode = (typeof AUDIT_MODES)[number]

/** The forms of lines in the audit log. Source: apiserver plugin/pkg/audit/log/backend.go AllowedFormats. */
export const AUDIT_LOG_FORMATS = ["legacy", "json"] as const
export type AuditLogFormat = (typeof AUDIT_LOG_FORMATS)[number]

/** Returns whether all answers of `process` say that events are kept. */
export function allKept(answers: readonly (boolean | Promise<boolean>)[]): boolean | Promise<boolean> {
  const pending = answers.filter((answer) => typeof answer !== "boolean")
  const isKept = answers.every((answer) => answer !== false)
  return pending.length === 0 ? isKept : Promise.all(pending).then((all) => isKept && all.every(Boolean))
}

/** Returns a backend whose losses are no reason to refuse requests. */
export const ignoringErrors = (backend: AuditBackend): AuditBackend => ({
  process(events) {
    const kept = backend.process(events)
    return typeof kept === "boolean" ? true : kept.then(() => true)
  },
  close: () => backend.close(),
})
