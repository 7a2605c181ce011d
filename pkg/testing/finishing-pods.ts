import { isConflict, isNotFound } from "../apimachinery/errors.ts"
import { Pod } from "../api/core/v1/pod.ts"
import { isPodTerminal } from "../api/core/v1/pod-state.ts"
import { timestamp } from "../clock/clock.ts"
import type { ControlPlane } from "./control-plane.ts"

/** How a pod ends: when, with what exit code (0 unless given), and with what further true conditions. */
export interface Ending {
  readonly afterMs: number
  readonly exitCode?: number
  readonly conditions?: readonly string[]
}

/**
 * Stands in for kubelets where pods are to end by themselves: a pod on a node runs and is ready at once, and ends as `endingOf` says; undefined
 * lets it run for ever. A pod that is deleted ends at once, unless `lingerMs` gives it time.
 */
export function finishPods({ informers, client, clock, signal }: ControlPlane, endingOf: (pod: Pod) => Ending | undefined, lingerMs = 0): void {
  const known = new Set<string>()
  const quietly = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      if (!signal.aborted) await work()
    } catch (err) {
      if (!isNotFound(err) && !isConflict(err)) throw err
    }
  }
  const status = (pod: Pod, change: object): Promise<unknown> => quietly(() => client.patch(Pod, pod.metadata, { type: "strategic", body: { status: change } }, { subresource: "status" }))
  const condition = (type: string, value: boolean): object => ({ type, status: value ? "True" : "False", lastTransitionTime: timestamp(clock) })

  const start = async (pod: Pod): Promise<void> => {
    await status(pod, { phase: "Running", startTime: timestamp(clock), conditions: [condition("Ready", true)] })
    const ending = endingOf(pod)
    if (ending === undefined) return
    const { afterMs, exitCode = 0, conditions = [] } = ending
    clock.setTimeout(() => {
      const terminated = { exitCode, finishedAt: timestamp(clock) }
      void status(pod, {
        phase: exitCode === 0 ? "Succeeded" : "Failed", conditions: [condition("Ready", false), ...conditions.map((type) => condition(type, true))],
        containerStatuses: pod.spec.containers.map(({ name, image = "" }) => ({ name, image, imageID: "", ready: false, restartCount: 0, state: { terminated } })),
      })
    }, afterMs)
  }
  const see = (pod: Pod): void => {
    const uid = pod.metadata.uid ?? ""
    if (pod.metadata.deletionTimestamp !== undefined && !known.has(`${uid} deleted`)) {
      known.add(`${uid} deleted`)
      const end = async (): Promise<void> => {
        if (!isPodTerminal(pod)) await status(pod, { phase: "Failed", conditions: [condition("Ready", false)] })
        await quietly(() => client.delete(Pod, pod.metadata, { gracePeriodSeconds: 0 }))
      }
      if (lingerMs === 0) void end()
      else clock.setTimeout(() => void end(), lingerMs)
    } else if (pod.spec.nodeName && !known.has(uid) && !isPodTerminal(pod)) {
      known.add(uid)
      void start(pod)
    }
  }
  informers.of(Pod).on({ added: see, updated: see })
}
