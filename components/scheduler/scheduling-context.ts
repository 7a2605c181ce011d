import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { SeriesRecorder } from "../../pkg/controller/event-series.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { SchedulerObserver } from "./observer.ts"
import type { SchedulingQueue } from "./queue.ts"
import type { CycleContext } from "./schedule-one.ts"

/** What the steps of scheduling share. */
export interface SchedulingContext extends Pick<ComponentContext, "client" | "informers" | "clock"> {
  /** The schedulerName of the pods to schedule. */
  readonly name: string
  readonly log: Logger
  readonly events: SeriesRecorder
  readonly observer: SchedulerObserver | undefined
  readonly cycle: CycleContext
  readonly queue: SchedulingQueue
  /** Whether the scheduler binds pods itself where no plugin has. */
  readonly bindsByDefault: boolean
  /** Whether the scheduler was started and not stopped: what fails while it stops is no news. */
  isRunning(): boolean
}

/** `<namespace>/<name>`, for messages. */
export const podName = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`
