import type { SchedulingQueue } from "./queue.ts"

export type ExtensionPoint = "PreFilter" | "Filter" | "PostFilter" | "Score" | "Reserve" | "PreBind" | "Bind"
export type PointStatus = "Success" | "Unschedulable" | "Error"

/** Receives what the scheduler reports for metrics. */
export interface SchedulerObserver {
  /** Called after each scheduling attempt of a profile, with its result and duration. */
  attempted(result: "scheduled" | "unschedulable" | "error", milliseconds: number, profile: string): void
  /** Called after each search for a node, with its duration. */
  searched(milliseconds: number): void
  /** Called when a pod was bound, with the number of attempts and the time since it was first in the queue. */
  placed(tries: number, milliseconds: number): void
  /** Called when all plugins of an extension point have run for a pod. */
  point(name: ExtensionPoint, status: PointStatus, milliseconds: number, profile: string): void
  /** Called when room was looked for by preemption, with the number of victims if there are any. */
  preempted(victims: number | undefined): void
  /** Called when a pod comes into a part of the queue. */
  incoming(queue: keyof SchedulingQueue["sizes"], event: string): void
  /** Called after each question to a plugin of one's own or an extender, with its duration. */
  asked(name: string, point: string, status: "Success" | "Error", milliseconds: number): void
  /** Called with the number of pods in each queue. Source: scheduler_pending_pods. */
  pending(sizes: SchedulingQueue["sizes"]): void
}
