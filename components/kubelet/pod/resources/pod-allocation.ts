import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { RESIZE_CONDITIONS } from "../../../../pkg/api/core/v1/pod/resources/in-force.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { KubeletContext } from "../../context.ts"
import type { Finding } from "../../status/conditions.ts"
import type { RuntimeCache } from "../../pleg/runtime-cache.ts"
import type { RuntimePod } from "../../model/runtime-pod.ts"
import { allocationOf, wasInterrupted } from "./earlier-allocation.ts"
import { podAmounts, type PodAmounts } from "../../model/pod-amounts.ts"
import { allocated, carryOut, wantsResize, type resizeProblem } from "./resize.ts"
import type { Allocation } from "../../model/allocation.ts"
import { resizeMessage } from "./resize-message.ts"

interface Resize {
  /** Returns why the node lacks the resources that the pod requests now; undefined when it has them. */
  problemOf(pod: Pod): ReturnType<typeof resizeProblem>
  /** Called when the node has allocated the resources, before they are in force. */
  began(): void
  readonly runtime: RuntimePod
  readonly signal: AbortSignal
}

/**
 * What a pod requests, what the node has allocated to it, and what its cgroups have: the same until the pod is resized.
 * Source: handlePodResourcesResize in pkg/kubelet/allocation/allocation_manager.go.
 */
export class PodAllocation {
  #requested: Pod
  #pod: Pod
  #allocation: Allocation
  /** What cgroups and containers have. */
  #actuated: Allocation
  /** Whether only some of them may have that, because a kubelet was stopped in between. */
  #isUncertain: boolean
  #pending: Finding | undefined
  #progress: Finding | undefined

  /** A pod that runs already was allocated what its status tells. */
  constructor(pod: Pod) {
    this.#requested = pod
    this.#allocation = allocationOf(pod)
    this.#actuated = this.#allocation
    this.#isUncertain = wasInterrupted(pod)
    this.#pod = allocated(pod, this.#allocation)
  }

  /** The pod with its requested resources. */
  get requested(): Pod {
    return this.#requested
  }
  /** The pod with its allocated resources. */
  get pod(): Pod {
    return this.#pod
  }
  /** The conditions that tell that the pod waits for the resources that it requests, or does not have them yet. */
  get conditions(): readonly Finding[] {
    return [this.#pending, this.#progress].filter((finding) => finding !== undefined)
  }
  /** The resources of the pod as its status tells them. */
  get amounts(): PodAmounts {
    return podAmounts(this.#allocation, this.#actuated)
  }
  /** What containers have while that is not what is allocated; undefined at most times. */
  get inForce(): Allocation | undefined {
    return this.#actuated === this.#allocation ? undefined : this.#actuated
  }

  /** Takes over a newer pod of the API. */
  note(pod: Pod): void {
    this.#requested = pod
    this.#pod = allocated(pod, this.#allocation)
  }

  /**
   * Gives running containers the requested resources, if the node has them. Returns whether that failed, so that it
   * must be tried again.
   */
  async resize(context: KubeletContext, cache: RuntimeCache, request: Resize): Promise<boolean> {
    this.#allocate(context, request)
    if (this.#actuated === this.#allocation && !this.#isUncertain) return false
    const { runtime, signal } = request
    const [pod, before, isUncertain] = [this.#pod, this.#actuated, this.#isUncertain]
    try {
      await carryOut(context, cache, { pod, before, isUncertain, runtime, signal })
    } catch (err) {
      signal.throwIfAborted()
      const message = errorMessage(err)
      if (this.#progress?.message !== message)
        context.events.event(pod, "Warning", "ResizeError", resizeMessage(pod, "error", message))
      this.#progress = { ...IN_PROGRESS, reason: "Error", message }
      return true
    }
    this.#actuated = this.#allocation
    this.#isUncertain = false
    if (this.#progress !== undefined)
      context.events.event(pod, "Normal", "ResizeCompleted", resizeMessage(pod, "completed"))
    this.#progress = undefined
    return false
  }

  #allocate({ events }: KubeletContext, { problemOf, began }: Resize): void {
    const before = this.#pending
    this.#pending = undefined
    const pod = this.#requested
    if (!wantsResize(pod, this.#allocation)) return
    const problem = problemOf(pod)
    if (problem !== undefined) {
      const { reason = "", message = "" } = problem
      if (before?.reason !== reason || before.message !== message)
        events.event(pod, "Warning", `Resize${reason}`, resizeMessage(pod, reason, message))
      this.#pending = problem
      return
    }
    this.#allocation = pod.spec
    this.#pod = pod
    this.#progress = IN_PROGRESS
    events.event(pod, "Normal", "ResizeStarted", resizeMessage(pod, "started"))
    began()
  }
}

const IN_PROGRESS: Finding = { type: RESIZE_CONDITIONS.inProgress, status: "True" }
