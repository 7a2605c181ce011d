import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../../../pkg/api/core/v1/pod/podstatus.ts"

/** One run of a container, as its kubelet has reported it. Times are in milliseconds since the epoch. */
export interface ContainerRun {
  readonly from: number
  /** Undefined while it runs. */
  to?: number
  exitCode?: number
  /** When its pod was first ready in this run; undefined when it never was. */
  readyAt?: number
}

/** What is known of one container of one pod. */
export interface ContainerRuns {
  readonly image: string
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
    const images = new Map(
      [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name, image = "" }) => [name, image]),
    )
    const isBound = (pod.spec.nodeName ?? "") !== ""
    for (const [name, image] of images) {
      const known = this.#of(pod, name, image)
      if (isBound) known.boundAt ??= time
    }
    const ready = pod.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
    const statuses = [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])]
    for (const status of statuses) {
      const image = images.get(status.name)
      if (image !== undefined) this.#takeStatus(pod, image, status, time, ready)
    }
  }

  of(namespace: string, pod: string, container: string): ContainerRuns | undefined {
    return this.#containers.get(`${namespace}/${pod}/${container}`)
  }

  /** Returns the message with which pulls of an image fail at a time; undefined when they do not. */
  pullErrorAt(image: string, time: number): string | undefined {
    return this.#pulls.get(image)?.findLast(({ since }, i) => i === 0 || since <= time)?.error
  }

  #of({ metadata: { namespace = "", name = "" } }: Pod, container: string, image: string): ContainerRuns {
    const key = `${namespace}/${name}/${container}`
    let known = this.#containers.get(key)
    if (known?.image !== image) {
      known = { image, runs: [], boundAt: undefined }
      this.#containers.set(key, known)
    }
    return known
  }

  #takeStatus(pod: Pod, image: string, status: ContainerStatus, time: number, ready: boolean): void {
    const { name, state, lastState } = status
    const { waiting, running, terminated } = state ?? {}
    if (waiting?.reason !== undefined && PULL_FAILURES.has(waiting.reason))
      this.#notePull(image, { since: time, error: waiting.message ?? waiting.reason })
    else if (running !== undefined || terminated !== undefined) this.#notePull(image, { since: time, error: undefined })
    const { runs } = this.#of(pod, name, image)
    const ended = terminated ?? lastState?.terminated
    if (ended !== undefined && pod.metadata.deletionTimestamp === undefined)
      noteEnd(runs, ended, terminated === undefined ? undefined : time)
    const startedAt = running?.startedAt
    if (typeof startedAt !== "string") return
    const last = runs.at(-1)
    // Reported times are whole seconds; the time of the report itself is nearer.
    const from = nearest(Date.parse(startedAt), time)
    const current = last === undefined || last.to !== undefined ? { from } : last
    if (current !== last) runs.push(current)
    if (ready) current.readyAt ??= time
  }

  #notePull(image: string, outcome: PullOutcome): void {
    const outcomes = this.#pulls.get(image) ?? []
    this.#pulls.set(image, outcomes)
    if (outcomes.at(-1)?.error !== outcome.error || outcomes.length === 0) outcomes.push(outcome)
  }
}

const SECOND_MS = 1000

const nearest = (reported: number, time: number): number =>
  time >= reported && time - reported < 2 * SECOND_MS ? time : reported

function noteEnd(
  runs: ContainerRun[],
  ended: NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>,
  time: number | undefined,
): void {
  const [start, end] = [Date.parse(ended.startedAt ?? ""), Date.parse(ended.finishedAt ?? "")]
  if (Number.isNaN(end)) return
  const to = time === undefined ? end : nearest(end, time)
  const last = runs.at(-1)
  if (last !== undefined && last.to === undefined && Math.abs(last.from - start) < 2 * SECOND_MS) {
    last.to = Math.max(last.from, to)
    last.exitCode = ended.exitCode ?? 0
  } else if (last === undefined || (last.to !== undefined && start > last.from + SECOND_MS))
    runs.push({ from: Number.isNaN(start) ? to : start, to, exitCode: ended.exitCode ?? 0 })
}
