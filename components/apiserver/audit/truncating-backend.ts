import type { Logger } from "../../../pkg/log/log.ts"
import { allKept, type AuditBackend } from "./audit-backend.ts"
import type { AuditEvent } from "./audit-event.ts"
import type { AuditMetrics } from "./audit-metrics.ts"

export interface TruncateOptions {
  /** The largest event, in bytes. */
  readonly mostEventBytes: number
  /** The largest batch, in bytes. */
  readonly mostBatchBytes: number
}

/**
 * Returns a backend that passes no large events on: they lose their objects first, and are lost if they are too large
 * without them. Large batches are split. Source: apiserver plugin/pkg/audit/truncate/truncate.go.
 */
export function truncatingBackend(
  { backend, metrics, log }: { readonly backend: AuditBackend; readonly metrics: AuditMetrics; readonly log: Logger },
  { mostEventBytes, mostBatchBytes }: TruncateOptions,
): AuditBackend {
  function batchesOf(events: readonly AuditEvent[]): AuditEvent[][] {
    const batches: AuditEvent[][] = [[]]
    let [bytes, lost] = [0, 0]
    for (const whole of events) {
      const event = sizeOf(whole) > mostEventBytes ? whole.withoutObjects() : whole
      const size = sizeOf(event)
      if (size > mostEventBytes) {
        lost++
        continue
      }
      if (bytes > 0 && bytes + size > mostBatchBytes) {
        batches.push([])
        bytes = 0
      }
      bytes += size
      batches.at(-1)!.push(event)
    }
    if (lost > 0) {
      metrics.lost("truncate", lost)
      log.error("Lost audit events: an event is too large even without its objects", { lost, mostEventBytes })
    }
    return batches.filter((batch) => batch.length > 0)
  }
  return {
    process: (events) => allKept(batchesOf(events).map((batch) => backend.process(batch))),
    close: () => backend.close(),
  }
}

/** The size of an event as it is sent, with the end of its line. */
const sizeOf = ({ json }: AuditEvent): number => Buffer.byteLength(json) + 1
