import type { ComponentContext } from "../../pkg/component/component.ts"
import type { SeriesRecorder } from "../../pkg/controller/event-series.ts"
import type { ClaimWaits } from "./claim-waits.ts"

/** What a plugin needs to write, or to wait for, what a pod gets on its node. */
export interface BindingContext extends Pick<ComponentContext, "client" | "informers" | "clock"> {
  readonly events: SeriesRecorder
  readonly waits: ClaimWaits
  /** Aborts waits when the scheduler stops. */
  readonly signal: AbortSignal
}
