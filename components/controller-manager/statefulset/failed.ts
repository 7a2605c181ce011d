import type { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

/** Records the event for a failed write, and returns the error to throw. `what`: `Create Pod web-0 in …`. */
export function failed(
  set: StatefulSet,
  reason: "FailedCreate" | "FailedDelete",
  what: string,
  err: unknown,
  { events }: Pick<ReconcileContext, "events">,
): unknown {
  events.event(set, "Warning", reason, `${what} failed error: ${errorMessage(err)}`)
  return err
}
