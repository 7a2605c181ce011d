import type { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"

/** Makes the event for a write that failed, and returns the error, to be thrown. `what`: `create Pod web-0 in …`. */
export function failed(
  set: StatefulSet,
  reason: "FailedCreate" | "FailedDelete",
  what: string,
  err: unknown,
  { events }: Pick<ReconcileContext, "events">,
): unknown {
  events.event(set, "Warning", reason, `${what} failed error: ${err instanceof Error ? err.message : String(err)}`)
  return err
}
