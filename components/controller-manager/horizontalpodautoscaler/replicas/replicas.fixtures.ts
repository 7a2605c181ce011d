import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { Tolerances } from "./replicas.ts"

export const NOW = Date.parse("2026-01-01T01:00:00Z")
const LONG_AGO = "2026-01-01T00:00:00Z"
export const usual = { up: 0.1, down: 0.1 }

/**
 * `up` is ready; `new` started a moment ago, and its metric is as old as that; `unready` has never been ready; of the
 * others the phase or the end is told.
 */
type State = "up" | "new" | "unready" | "pending" | "failed" | "deleted"

export const states = (text: string): readonly State[] => text.split(" ").filter((one) => one !== "") as State[]

export function podsOf(of: readonly State[], requests: readonly number[] = []): Pod[] {
  return of.map((state, index) => {
    const startTime = state === "new" ? new Date(NOW - 10_000).toISOString() : LONG_AGO
    const isReady = state !== "unready"
    const request = `${requests[index] ?? 1000}m`
    return {
      metadata: { name: `p${index}`, ...(state === "deleted" ? { deletionTimestamp: LONG_AGO } : {}) },
      spec: {
        containers: [
          { name: "main", resources: { requests: { cpu: request } } },
          { name: "side", resources: { requests: { cpu: request } } },
        ],
      },
      status: {
        phase: state === "pending" ? "Pending" : state === "failed" ? "Failed" : "Running",
        startTime,
        conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: startTime }],
      },
    } as unknown as Pod
  })
}

/** How many replicas a workload needs, in the state and with the usage of its pods. */
export interface Row {
  readonly title: string
  readonly of: string
  /** What the first pods use, or each of their containers; the others say nothing. */
  readonly used: readonly number[]
  readonly target: number
  readonly current?: number
  readonly requests?: readonly number[]
  readonly tolerances?: Tolerances
  readonly wants: number
  /** Percent of the requests, or the average. */
  readonly shows: number
}

export const questionOf = ({
  of,
  used,
  current,
  requests,
  tolerances = usual,
}: Omit<Row, "title" | "wants" | "shows">) => ({
  pods: podsOf(states(of), requests),
  metrics: new Map(used.map((value, index) => [`p${index}`, { value, timestamp: NOW, windowMs: 60_000 }] as const)),
  currentReplicas: current ?? states(of).length,
  tolerances,
  resource: "cpu",
  now: NOW,
})
