import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { Probe } from "../../../../pkg/api/core/v1/container/probe.ts"
import {
  ImageBehaviours,
  type ImageBehaviour,
  type RunningAs,
} from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { ContainerRun, ContainerRuns, ReportedRuns } from "./container-runs.ts"

export interface RecordedImagesOptions {
  readonly reported: ReportedRuns
  /** How images behave of which the recording has a container: for containers that it has not. */
  readonly learnt: Readonly<Record<string, ImageBehaviour>>
  /** Those of the test, which go before all others. */
  readonly own: Readonly<Record<string, ImageBehaviour>>
  readonly now: () => number
  readonly failed: (failure: Error) => void
}

/**
 * Containers that behave as the recording has it: each starts, becomes ready and ends when the container with its name
 * has. Others do what their images have done.
 */
export class RecordedImages extends ImageBehaviours {
  readonly #options: RecordedImagesOptions
  readonly #learnt: ImageBehaviours

  constructor(options: RecordedImagesOptions) {
    super(options.own, options.failed)
    this.#options = options
    this.#learnt = new ImageBehaviours(options.learnt)
  }

  override of(image: string, as?: RunningAs): ImageBehaviour {
    const own = super.of(image)
    if (Object.keys(own).length > 0) return own
    const { reported, now } = this.#options
    const learnt = this.#learnt.of(image)
    if (as === undefined) {
      const { pullError: _, ...others } = learnt
      const pullError = reported.pullErrorAt(image, now())
      return pullError === undefined ? others : { ...others, pullError }
    }
    const known = reported.of(as.namespace, as.pod, as.container)
    if (known === undefined || (known.image !== as.image && known.image !== image)) return learnt
    const behaviour = ofNextRun(known, now())
    return behaviour === undefined ? learnt : { ...learnt, startMs: 0, listensAfterMs: 0, ...behaviour }
  }
}

/** Returns what a container does that starts now: the recorded run that is next, or the last one again. */
function ofNextRun({ runs, boundAt, readinessProbe }: ContainerRuns, now: number): ImageBehaviour | undefined {
  const run = runs.find(({ to }) => to === undefined || to > now) ?? runs.at(-1)
  if (run === undefined) return undefined
  // One that starts later than recorded takes as long for it.
  const startMs = run.from > now ? run.from - now : boundAt === undefined ? 0 : Math.max(0, run.from - boundAt)
  const isFirst = run === runs[0]
  return { ...(isFirst ? { startMs } : {}), ...goingOn(run, readinessProbe) }
}

/** Returns how a run goes on after its start. */
export function goingOn({ from, to, exitCode = 0, ready }: ContainerRun, probe: Probe | undefined): ImageBehaviour {
  const [first, ...later] = ready
  return {
    ...(to === undefined ? {} : { runsMs: to - from, exitCode }),
    ...(first === undefined ? {} : { listensAfterMs: Math.max(0, first.since - from) }),
    ...(later.length > 0 && probe !== undefined ? failingWhile(ready, probe) : {}),
  }
}

/** Returns the behaviour that fails a readiness probe at the times at which the container was not ready. */
function failingWhile(ready: ContainerRun["ready"], { httpGet, exec, grpc }: Probe): ImageBehaviour {
  const isReady = (time: number) => ready.findLast(({ since }) => since <= time)?.is === true
  if (httpGet !== undefined) {
    const path = new URL(httpGet.path ?? "/", "http://pod").pathname
    return {
      http: ({ url }, container) =>
        new URL(url).pathname !== path || isReady(container.now())
          ? new Response("ok")
          : new Response("not ready", { status: 503 }),
    }
  }
  if (exec !== undefined) {
    const { command: asked = [] } = exec
    return { exec: (command, container) => (deepEqual(command, asked) && !isReady(container.now()) ? 1 : 0) }
  }
  return grpc === undefined ? {} : { grpc: (_, container) => (isReady(container.now()) ? "SERVING" : "NOT_SERVING") }
}
