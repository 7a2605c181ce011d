import { ImageBehaviours, type ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { RunningAs } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { ContainerRun, ContainerRuns, ReportedRuns } from "./container-runs.ts"

export interface RecordedImagesOptions {
  readonly reported: ReportedRuns
  /** How images behave of which the recording has a container: for containers that it has not. */
  readonly learnt: Readonly<Record<string, ImageBehaviour>>
  /** Those of the test, which go before all others. */
  readonly own: Readonly<Record<string, ImageBehaviour>>
  readonly now: () => number
  /** When the recording begins, in milliseconds since the epoch. */
  readonly begin: number
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
    const { reported, now, begin } = this.#options
    if (as === undefined) {
      const { pullError: _, ...learnt } = this.#learnt.of(image)
      const pullError = reported.pullErrorAt(image, Math.max(now(), begin))
      return pullError === undefined ? learnt : { ...learnt, pullError }
    }
    const known = reported.of(as.namespace, as.pod, as.container)
    const runs = known?.image === as.image || known?.image === image ? known : undefined
    const behaviour = runs === undefined ? undefined : this.#ofRuns(runs)
    return behaviour === undefined ? this.#learnt.of(image) : { ...this.#learnt.of(image), ...UNTIMED, ...behaviour }
  }

  /** Returns what a container does that starts now. */
  #ofRuns({ runs, boundAt }: ContainerRuns): ImageBehaviour | undefined {
    const { begin } = this.#options
    const now = this.#options.now()
    const isBefore = now < begin
    const run = runs.find(({ to }) => to === undefined || to > now) ?? (isBefore ? undefined : runs.at(-1))
    if (run === undefined) return undefined
    // What had ended before the recording began has only to have ended.
    if (isBefore && run.to !== undefined && run.to <= begin) return { runsMs: 0, exitCode: run.exitCode ?? 0 }
    if (isBefore && run.from <= begin) return atOnce(run, now, begin)
    const startMs = run.from > now ? run.from - now : boundAt === undefined ? 0 : Math.max(0, run.from - boundAt)
    const starts = run.from > now ? run.from : now + startMs
    return {
      ...(run.from > now ? { startMs } : {}),
      ...(run.to === undefined
        ? {}
        : { runsMs: run.from > now || run.to <= starts ? run.to - run.from : run.to - now }),
      ...(run.exitCode === undefined ? {} : { exitCode: run.exitCode }),
      ...(run.readyAt === undefined ? {} : { listensAfterMs: Math.max(0, run.readyAt - run.from) }),
    }
  }
}

const UNTIMED: ImageBehaviour = { startMs: 0, listensAfterMs: 0 }

/** What runs when the recording begins: it ends, and becomes ready, at the recorded time. */
function atOnce({ to, exitCode = 0, readyAt }: ContainerRun, now: number, begin: number): ImageBehaviour {
  return {
    ...(to === undefined ? {} : { runsMs: to - now, exitCode }),
    ...(readyAt === undefined || readyAt <= begin ? {} : { listensAfterMs: readyAt - now }),
  }
}
