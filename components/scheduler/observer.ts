import type { SchedulingQueue } from "./queue.ts"

/** Receives what the scheduler reports for metrics. */
export interface SchedulerObserver {
  /** Called after each scheduling attempt of a profile, with its result and duration. */
  attempted(result: "scheduled" | "unschedulable" | "error", milliseconds: number, profile: string): void
  /** Called after each search for a node, with its duration. */
  searched(milliseconds: number): void
  /** Called when a pod was bound, with the number of attempts and the time since it was first in the queue. */
  placed(tries: number, milliseconds: number): void
  /** Called with the number of pods in each queue. Source: scheduler_pending_pods. */
  pending(sizes: SchedulingQueue["sizes"]): void
}
