import type { Cluster } from "../cluster.ts"
import type { ClusterOptions } from "../options/options.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import { baselineOf, observedSince, type Observed } from "./observed.ts"

/** A change to a cluster; returns what the command that makes it said, and how it ended. */
export type Change = (cluster: Cluster) => Promise<ChangeOutcome>

export interface ChangeOutcome {
  readonly code: number
  readonly output: string
}

/** What would happen. */
export interface Forecast extends Observed {
  readonly change: ChangeOutcome
  /** How long the command itself took, in milliseconds of the cluster's time. */
  readonly changeMs: number
  /** The span that was looked at, in milliseconds. */
  readonly spanMs: number
  readonly nodes: number
  readonly pods: number
}

/** How long a copy needs until its controllers and kubelets have seen all that there is. */
export const SETTLING = "10s"

/**
 * What does not run in a copy whose change is followed: Endpoints repeat what EndpointSlices say, which kube-proxy and
 * forecasts read. They take a seventh of the processor time of a drain.
 */
export const LEFT_OUT: NonNullable<ClusterOptions["components"]> = {
  controllers: { disabled: ["endpoint-controller"] },
}

/** How long what follows a change that takes nearly the whole span, or longer, is looked at. */
const AFTER_MS = 5 * 60_000

/** Makes a change in a cluster, lets time pass, and returns what has happened. */
export async function forecast(cluster: Cluster, change: Change, span: Duration): Promise<Forecast> {
  const begin = await baselineOf(cluster)
  const outcome = await change(cluster)
  const changeMs = cluster.contextFor().clock.now() - begin.time
  const spanMs = milliseconds(span)
  await cluster.advance(Math.max(spanMs - changeMs, Math.min(changeMs, AFTER_MS)))
  const observed = await observedSince(cluster, begin)
  return { ...observed, change: outcome, changeMs, spanMs, nodes: cluster.nodes.length, pods: begin.pods.length }
}
