import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import type { Profile } from "../profile.ts"
import type { QueuedPod } from "../queued-pod.ts"
import { consult, type Consultation } from "./consult.ts"
import { ExternalBinding } from "../external/external-binding.ts"
import { findVictimsWith } from "./external-preemption.ts"
import type { External } from "../external/external.ts"
import type { Externals, ExternalTools } from "../externals.ts"
import { Lanes } from "./lanes.ts"

/**
 * Schedules pods of which externals have a say. Those that wait for the same externals are decided one after the other;
 * all other pods get their nodes meanwhile, so that an external that hangs holds up nobody who does not need it.
 */
export class ExternalCycle implements Pick<Externals, "schedule"> {
  readonly #tools: ExternalTools
  readonly #lanes = new Lanes()
  readonly #turn = { startAt: 0 }
  #stopped = false

  constructor(tools: ExternalTools) {
    this.#tools = tools
  }

  /** Pods that still wait are dropped: the next scheduler finds them. */
  stop(): void {
    this.#stopped = true
  }

  schedule(queued: QueuedPod, profile: Profile, externals: readonly External[]): Promise<void> {
    const key = externals.map(({ name }) => name).join()
    return this.#lanes.run(key, async () => {
      try {
        await this.#schedule(queued, profile, externals)
      } catch (err) {
        this.#tools.contain(queued, err)
      }
    })
  }

  async #schedule(queued: QueuedPod, profile: Profile, externals: readonly External[]): Promise<void> {
    const { clock, informers, conclude, drop } = this.#tools
    const { pod } = queued
    const started = clock.monotonic()
    const attempt = { key: `${pod.metadata.uid}/${queued.attempts}`, pod }
    const { cycle, log } = profile.context
    const isWaiting = () => this.#isWaiting(pod)
    const consultation: Consultation = { attempt, externals, cycle, log, turn: this.#turn, isWaiting }
    if (!this.#isWaiting(pod)) return drop(pod)
    const outcome = await consult(consultation, (node) => {
      const binding = new ExternalBinding(attempt, node, externals, log)
      const writing = conclude(queued, { node }, started, profile, binding)
      return writing === undefined ? Promise.resolve() : binding.reserved
    })
    if (outcome !== undefined && "settled" in outcome) return outcome.settled
    const budgets = informers.of(PodDisruptionBudget).list(pod.metadata.namespace)
    const decision =
      outcome !== undefined && "diagnosis" in outcome
        ? { ...outcome, preemption: await findVictimsWith(consultation, outcome.diagnosis, budgets) }
        : outcome
    for (const external of externals) external.ended(attempt)
    if (decision === undefined || this.#stopped) return drop(pod)
    void conclude(queued, decision, started, profile)
  }

  #isWaiting(pod: Pod): boolean {
    const shown = this.#tools.informers.of(Pod).get(keyFrom(pod.metadata))
    return (
      shown !== undefined &&
      !this.#stopped &&
      shown.metadata.uid === pod.metadata.uid &&
      shown.metadata.deletionTimestamp === undefined &&
      !shown.spec.nodeName
    )
  }
}
