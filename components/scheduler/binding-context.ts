import type { ComponentContext } from "../../pkg/component/component.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import type { ClaimWaits } from "./claim-waits.ts"

/** What the binding of a pod's claims needs. */
export interface BindingContext extends Pick<ComponentContext, "client" | "clock"> {
  readonly events: EventRecorder
  readonly waits: ClaimWaits
  readonly signal: AbortSignal
}
