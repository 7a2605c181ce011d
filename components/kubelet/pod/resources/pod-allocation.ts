import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeletContext } from "../../context.ts"
import type { RuntimeCache } from "../runtime-cache.ts"
import type { RuntimePod } from "../runtime-pod.ts"
import { allocated, carryOut, wantsResize, type Allocation, type resizeProblem } from "./resize.ts"

interface Resize {
  /** Returns why the node lacks the resources that the pod requests now; undefined when it has them. */
  problemOf(pod: Pod): ReturnType<typeof resizeProblem>
  readonly runtime: RuntimePod
  readonly signal: AbortSignal
}

/** What a pod requests, and what the node has allocated to it: the same until the pod is resized. */
export class PodAllocation {
  #requested: Pod
  #pod: Pod
  #allocation: Allocation
  #pending: ReturnType<typeof resizeProblem>

  constructor(pod: Pod) {
    this.#requested = pod
    this.#pod = pod
    this.#allocation = pod.spec
  }

  /** The pod with its requested resources. */
  get requested(): Pod {
    return this.#requested
  }
  /** The pod with its allocated resources. */
  get pod(): Pod {
    return this.#pod
  }
  /** The condition that tells why the pod waits for the resources that it requests; undefined when it has them. */
  get pending(): ReturnType<typeof resizeProblem> {
    return this.#pending
  }

  /** Takes over a newer pod of the API. */
  note(pod: Pod): void {
    this.#requested = pod
    this.#pod = allocated(pod, this.#allocation)
  }

  /** Gives running containers the requested resources, if the node has them. */
  async resize(context: KubeletContext, cache: RuntimeCache, { problemOf, runtime, signal }: Resize): Promise<void> {
    this.#pending = undefined
    if (!wantsResize(this.#requested, this.#allocation)) return
    this.#pending = problemOf(this.#requested)
    if (this.#pending !== undefined) return
    const before = this.#allocation
    this.#allocation = this.#requested.spec
    this.#pod = this.#requested
    await carryOut(context, cache, { pod: this.#pod, before, runtime, signal })
  }
}
