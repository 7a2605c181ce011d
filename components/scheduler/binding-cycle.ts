import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import type { BindingContext } from "./binding-context.ts"
import { PermitRefusal, type ExternalBinding } from "./external/external-binding.ts"
import type { Plugin, Reservation } from "./framework.ts"
import type { NodeInfo } from "./node-info.ts"
import { pluginsOf } from "./plugins/plugins.ts"
import type { QueuedPod } from "./queued-pod.ts"
import { writeUnschedulable } from "./refusal.ts"
import { writeNomination } from "./write-nomination.ts"
import { podName, type SchedulingContext } from "./scheduling-context.ts"

/** What a plugin keeps for a pod. */
export interface Kept {
  readonly plugin: string
  readonly reservation: Reservation
}

/** Thrown where a plugin cannot keep for a pod what it needs on its node. */
export class ReserveError extends Error {
  /** What was kept before. */
  readonly kept: readonly Kept[]
  constructor(plugin: Plugin, kept: readonly Kept[], cause: unknown) {
    super(`running ${JSON.stringify(plugin.name)} reserve plugin`, { cause })
    this.kept = kept
  }
}

/** From the choice of a node to the binding. Source: schedule_one.go bindingCycle. */
export class BindingCycle {
  readonly #context: SchedulingContext
  readonly #reserving: readonly Plugin[]

  constructor(context: SchedulingContext) {
    this.#context = context
    this.#reserving = pluginsOf(context.cycle.plugins).filter(({ reserve }) => reserve !== undefined)
  }

  /** Keeps for the pod what it gets on the node. @throws ReserveError */
  reserve(pod: Pod, node: NodeInfo, context: BindingContext): readonly Kept[] {
    const kept: Kept[] = []
    for (const plugin of this.#reserving)
      try {
        const reservation = plugin.reserve!(pod, node, context)
        if (reservation !== undefined) kept.push({ plugin: plugin.name, reservation })
      } catch (err) {
        throw new ReserveError(plugin, kept, err)
      }
    return kept
  }

  /**
   * Writes what was kept, and then the binding. On failure gives all back and queues the pod again.
   * @param external what plugins and extenders outside of the scheduler's turn do for the pod
   */
  async bind(
    queued: QueuedPod,
    node: string,
    started: number,
    kept: readonly Kept[],
    external?: ExternalBinding,
  ): Promise<void> {
    const { name, client, clock, queue, observer, cycle, events, bindsByDefault } = this.#context
    const { pod } = queued
    try {
      await external?.reserve()
      await external?.permit()
      let began = cycle.timed?.now() ?? 0
      // Others, such as an autoscaler, are told for which node a pod waits whose volumes or devices are being made
      // ready. Source: schedule_one.go bindingCycle, gate NominatedNodeNameForExpectation.
      if (kept.length > 0) await writeNomination(pod, node, this.#context)
      for (const { reservation } of kept) await reservation.preBind()
      await external?.preBind()
      began = cycle.timed?.ended("PreBind", "Success", began) ?? 0
      const binder = await external?.bind()
      if (binder !== undefined) await this.#checkBound(pod, node, binder)
      else if (!bindsByDefault) throw new Error(`no plugin of the profile ${name} has bound the pod`)
      else
        await client.createSubresource(Pod, pod.metadata, "binding", {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name: pod.metadata.name, namespace: pod.metadata.namespace, uid: pod.metadata.uid },
          target: { kind: "Node", name: node },
        })
      cycle.timed?.ended("Bind", "Success", began)
      queue.done(pod)
      observer?.attempted("scheduled", clock.monotonic() - started, name)
      observer?.placed(queued.attempts, clock.now() - queued.added)
      cycle.nominations.remove(pod)
      const note = `Successfully assigned ${podName(pod)} to ${node}`
      events.event(pod, "Normal", "Scheduled", { action: "Binding", note })
      if (external !== undefined) await external.bound()
    } catch (err) {
      if (external !== undefined) await external.failed()
      await this.#failed(queued, node, started, kept, err)
    }
  }

  /** @throws Error where whoever says that it has bound the pod has not */
  async #checkBound(pod: Pod, node: string, binder: string): Promise<void> {
    const { uid } = pod.metadata
    const now = await this.#context.client.get(Pod, pod.metadata)
    if (now.metadata.uid === uid && now.spec.nodeName === node) return
    throw new Error(
      `${binder} says that it has bound the pod, but ` +
        (now.spec.nodeName === undefined ? "the pod has no node" : `the pod is on node ${now.spec.nodeName}`),
    )
  }

  async #failed(queued: QueuedPod, node: string, started: number, kept: readonly Kept[], err: unknown): Promise<void> {
    const { name, clock, queue, cycle, observer, log } = this.#context
    const { pod } = queued
    // Where another scheduler has bound the pod meanwhile, the cache has it on its node already.
    if (cycle.cache.isAssumed(pod)) cycle.cache.forget(pod)
    if (kept.some(({ reservation }) => reservation.unreserve !== undefined)) await this.unreserve(pod, kept)
    // A pod that is gone or bound is not tried again. Any other one is, whatever the error was. Source: upstream
    // schedule_one.go handleSchedulingFailure.
    if (!this.#context.isRunning() || (isNotFound(err) && this.#isGone(pod)) || this.#isBound(pod))
      return queue.done(pod)
    if (err instanceof PermitRefusal) return this.#notPermitted(queued, started, err)
    observer?.attempted("error", clock.monotonic() - started, name)
    log.warn("Binding failed; will retry", { pod: podName(pod), node, err })
    cycle.nominations.remove(pod)
    if (kept.length > 0 || pod.status.nominatedNodeName) await writeNomination(pod, null, this.#context)
    queue.failed(queued, new Set())
    // Other pods may have been refused because of a pod that is not there after all.
    queue.moveAllToActiveOrBackoffQueue("AssignedPod/Delete")
  }

  /** The pod waits as if the plugin had refused all nodes. Source: schedule_one.go bindingCycle, WaitOnPermit. */
  async #notPermitted(queued: QueuedPod, started: number, { plugin, message }: PermitRefusal): Promise<void> {
    const { name, clock, queue, cycle, observer, events } = this.#context
    cycle.nominations.remove(queued.pod)
    observer?.attempted("unschedulable", clock.monotonic() - started, name)
    events.event(queued.pod, "Warning", "FailedScheduling", { action: "Scheduling", note: message })
    await writeUnschedulable(queued.pod, message, "", this.#context).catch(() => undefined)
    queue.failed(queued, new Set([plugin]))
    queue.moveAllToActiveOrBackoffQueue("AssignedPod/Delete")
  }

  /** Gives back what was kept, the last first. */
  async unreserve(pod: Pod, kept: readonly Kept[]): Promise<void> {
    const { log, queue } = this.#context
    for (const { plugin, reservation } of kept.toReversed()) {
      if (reservation.unreserve === undefined) continue
      try {
        await reservation.unreserve()
      } catch (err) {
        // The resourceclaim controller removes deleted pods from claims; a pod that is tried again is still reserved
        // on its claim.
        if (this.#context.isRunning() && !isNotFound(err))
          log.warn("Failed to give back what a plugin kept for a pod", { pod: podName(pod), plugin, err })
      }
      if (reservation.freed !== undefined) queue.moveAllToActiveOrBackoffQueue(reservation.freed)
    }
  }

  #shown({ metadata }: Pod): Pod | undefined {
    return this.#context.informers.of(Pod).get(keyFrom(metadata))
  }

  #isGone(pod: Pod): boolean {
    return this.#shown(pod)?.metadata.uid !== pod.metadata.uid
  }

  #isBound(pod: Pod): boolean {
    return !!this.#shown(pod)?.spec.nodeName
  }
}
