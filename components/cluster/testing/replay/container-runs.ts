import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import type { Probe } from "../../../../pkg/api/core/v1/container/probe.ts"

/** One run of a container, as its kubelet has reported it. Times are in milliseconds since the epoch. */
export interface ContainerRun {
  readonly from: number
  /** Undefined while it runs. */
  to?: number
  exitCode?: number
  /** Whether it was ready, each time that this changed; the first entry is the first time that it was ready. */
  readonly ready: { readonly since: number; readonly is: boolean }[]
}

/** What is known of one container of one pod. */
export interface ContainerRuns {
  readonly image: string
  readonly readinessProbe: Probe | undefined
  readonly runs: ContainerRun[]
  /** When the pod got its node. */
  boundAt: number | undefined
}

/** What became of pulls of an image: since when, and the message of those that failed. */
export interface PullOutcome {
  readonly since: number
  readonly error: string | undefined
}

const PULL_FAILURES: ReadonlySet<string> = new Set(["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])

/** What kubelets have reported of containers. */
export class ReportedRuns {
  readonly #containers = new Map<string, ContainerRuns>()
  readonly #pulls = new Map<string, PullOutcome[]>()

  /** Takes what a pod was after a write at a time. */
  take(pod: Pod, time: number): void {
    const { namespace = "", name: podName = "" } = pod.metadata
    const isBound = (pod.spec.nodeName ?? "") !== ""
    const statuses = [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])]
    for (const { name, image = "", readinessProbe } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const key = `${namespace}/${podName}/${name}`
      let known = this.#containers.get(key)
      if (known?.image !== image) {
        known = { image, readinessProbe, runs: [], boundAt: undefined }
        this.#containers.set(key, known)
      }
      if (isBound) known.boundAt ??= time
      const status = statuses.find((each) => each.name === name)
      if (status === undefined) continue
      this.#takePull(image, status, time)
      takeRun(known.runs, status, { time, isEnding: pod.metadata.deletionTimestamp !== undefined })
    }
  }

  of(namespace: string, pod: string, container: string): ContainerRuns | undefined {
    return this.#containers.get(`${namespace}/${pod}/${container}`)
  }

  /** Returns the message with which pulls of an image fail at a time; undefined when they do not. */
  pullErrorAt(image: string, time: number): string | undefined {
    return this.#pulls.get(image)?.findLast(({ since }, i) => i === 0 || since <= time)?.error
  }

  #takePull(image: string, { state }: ContainerStatus, time: number): void {
    const { waiting, running, terminated } = state ?? {}
    const isFailure = waiting?.reason !== undefined && PULL_FAILURES.has(waiting.reason)
    if (!isFailure && running === undefined && terminated === undefined) return
    const error = isFailure ? (waiting.message ?? waiting.reason) : undefined
    const outcomes = this.#pulls.get(image)
    if (outcomes === undefined) this.#pulls.set(image, [{ since: time, error }])
    // How the message is worded changes with each try.
    else if ((outcomes.at(-1)!.error === undefined) !== (error === undefined)) outcomes.push({ since: time, error })
  }
}

const SECOND_MS = 1000

/** Reported times are whole seconds; the time of the report itself is nearer. */
const nearest = (reported: number, time: number): number =>
  time >= reported && time - reported < 2 * SECOND_MS ? time : reported

function takeRun(
  runs: ContainerRun[],
  { state, lastState, ready }: ContainerStatus,
  { time, isEnding }: { readonly time: number; readonly isEnding: boolean },
): void {
  const { running, terminated } = state ?? {}
  const ended = terminated ?? lastState?.terminated
  // What its pod's deletion stops has not ended by itself.
  if (ended !== undefined && !isEnding) noteEnd(runs, ended, terminated === undefined ? undefined : time)
  if (typeof running?.startedAt !== "string") return
  const from = nearest(Date.parse(running.startedAt), time)
  const last = runs.at(-1)
  const current = last === undefined || last.to !== undefined ? { from, ready: [] } : last
  if (current !== last) runs.push(current)
  if (!isEnding && ready !== (current.ready.at(-1)?.is ?? false)) current.ready.push({ since: time, is: ready })
}

function noteEnd(
  runs: ContainerRun[],
  ended: NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>,
  time: number | undefined,
): void {
  const [start, end] = [Date.parse(ended.startedAt ?? ""), Date.parse(ended.finishedAt ?? "")]
  if (Number.isNaN(end)) return
  const to = time === undefined ? end : nearest(end, time)
  const exitCode = ended.exitCode ?? 0
  const last = runs.at(-1)
  if (last !== undefined && last.to === undefined && Math.abs(last.from - start) < 2 * SECOND_MS)
    Object.assign(last, { to: Math.max(last.from, to), exitCode })
  else if (last === undefined || (last.to !== undefined && start > last.from + SECOND_MS))
    runs.push({ from: Number.isNaN(start) ? to : start, to, exitCode, ready: [] })
}
