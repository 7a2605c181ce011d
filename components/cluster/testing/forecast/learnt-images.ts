import type { Probe } from "../../../../pkg/api/core/v1/container/probe.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import { failing, staysUnready } from "./unready.ts"

/** What one container has shown of its image. */
interface Seen {
  /** Milliseconds from its start until the pod was ready; undefined without a readiness probe. */
  readonly readyMs?: number | undefined
  /** Milliseconds from the moment when its pod got a node until it started. */
  readonly startMs?: number | undefined
  /** Whether it runs on, as what is always started again does. */
  readonly runs?: boolean
  /** How it ended by itself. */
  readonly ended?: { readonly runsMs: number; readonly exitCode: number } | undefined
  /** Why its image could not be pulled. */
  readonly pullError?: string | undefined
  /** The readiness probe that has not succeeded, and for how many milliseconds. */
  readonly unready?: { readonly probe: Probe; readonly ms: number } | undefined
}

const PULL_FAILURES: ReadonlySet<string> = new Set(["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])

/**
 * Returns how images behave, as the containers of a real cluster have shown it: how long they took to start and to
 * become ready or that they do not, how and when they ended, whether they could be pulled. What holds for an image also
 * holds for its other tags, but for failures. `now` is in milliseconds since the epoch.
 */
export function learntImages(pods: readonly Pod[], now: number): Readonly<Record<string, ImageBehaviour>> {
  const seen = new Map<string, Seen[]>()
  for (const pod of pods)
    for (const container of pod.spec.containers) {
      const one = seenOf(pod, container, now)
      if (one === undefined || container.image === undefined) continue
      const known = seen.get(container.image)
      if (known === undefined) seen.set(container.image, [one])
      else known.push(one)
    }
  const learnt: Record<string, ImageBehaviour> = {}
  for (const [image, all] of seen) {
    const behaviour = behaviourOf(all)
    const { startMs, listensAfterMs, ignoresCommand } = behaviour
    const isUsual = !all.some(({ unready }) => unready !== undefined)
    if (isUsual && (startMs ?? listensAfterMs ?? ignoresCommand) !== undefined) learnt[withoutTag(image)] ??= behaviour
    if (Object.keys(behaviour).length > 0) learnt[image] = behaviour
  }
  return learnt
}

function seenOf({ spec, status }: Pod, container: Pod["spec"]["containers"][number], now: number): Seen | undefined {
  const state = status.containerStatuses?.find(({ name }) => name === container.name)
  if (state === undefined) return undefined
  const { waiting, running, terminated } = state.state ?? {}
  if (waiting?.reason !== undefined && PULL_FAILURES.has(waiting.reason))
    return { pullError: waiting.message ?? waiting.reason }
  const end = terminated ?? (waiting?.reason === "CrashLoopBackOff" ? state.lastState?.terminated : undefined)
  if (end !== undefined) {
    const runsMs = between(end.startedAt, end.finishedAt)
    if (runsMs === undefined) return {}
    // What was stopped has not ended by itself.
    const bySignal = (end.exitCode ?? 0) > 128 && spec.restartPolicy === "Always"
    return bySignal ? {} : { ended: { runsMs, exitCode: end.exitCode ?? 0 } }
  }
  const since = running?.startedAt
  const { readinessProbe: probe } = container
  if (typeof since === "string" && !state.ready && probe !== undefined)
    return { unready: { probe, ms: now - Date.parse(since) } }
  const ready = status.conditions?.find(({ type }) => type === "ContainersReady")
  if (running === undefined) return {}
  if (ready?.status !== "True" || (state.restartCount ?? 0) > 0) return { runs: spec.restartPolicy === "Always" }
  const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled")
  const isFirst = (spec.initContainers ?? []).length === 0
  return {
    runs: spec.restartPolicy === "Always",
    startMs: isFirst ? between(scheduled?.lastTransitionTime, running.startedAt) : undefined,
    readyMs: container.readinessProbe === undefined ? undefined : between(running.startedAt, ready.lastTransitionTime),
  }
}

/** Returns the milliseconds from one time to another; undefined where one is not known. */
const between = (from: string | null | undefined, to: string | null | undefined): number | undefined =>
  typeof from !== "string" || typeof to !== "string" ? undefined : Math.max(0, Date.parse(to) - Date.parse(from))

/** What most containers of an image have shown. */
function behaviourOf(seen: readonly Seen[]): ImageBehaviour {
  const ended = seen.flatMap((one) => one.ended ?? [])
  const pullErrors = seen.flatMap(({ pullError }) => pullError ?? [])
  const most = (some: readonly unknown[]) => some.length * 2 > seen.length
  if (most(pullErrors)) return { pullError: pullErrors[0]! }
  if (most(ended)) return ended[Math.floor(ended.length / 2)]!
  const [startMs, listensAfterMs] = [medianOf(seen, "startMs"), medianOf(seen, "readyMs")]
  const unready = seen.flatMap(({ unready: one }) => (one && staysUnready(one.ms, { listensAfterMs }) ? one.probe : []))
  if (most(unready)) return { ignoresCommand: true, ...failing(unready[0]!) }
  const ignoresCommand = most(seen.filter(({ runs }) => runs === true))
  return {
    ...(ignoresCommand ? { ignoresCommand } : {}),
    ...(startMs === 0 ? {} : { startMs }),
    ...(listensAfterMs === 0 ? {} : { listensAfterMs }),
  }
}

/** The time that half of the containers stayed below; 0 where it is not known. */
function medianOf(seen: readonly Seen[], which: "startMs" | "readyMs"): number {
  const times = seen.flatMap((one) => one[which] ?? []).sort((a, b) => a - b)
  return times[Math.floor(times.length / 2)] ?? 0
}

/** `registry:5000/app:1` is `registry:5000/app`. */
const withoutTag = (image: string): string => image.replace(/@.*$/, "").replace(/:[^:/]*$/, "")
