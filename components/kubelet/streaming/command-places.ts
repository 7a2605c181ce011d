import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { RuntimePod } from "../model/runtime-pod.ts"

/** The most commands that run in a pod at once, besides the container's own. */
const MOST_OF_POD = 256
/** The most of all pods. Each takes 0.8 MB of containerd, also after its client has left. */
const MOST_OF_NODE = 1024
/** As in pkg/flow/fair-share.ts: pods of a namespace may have this many times as many commands as there are places. */
const OF_FREE = 3

interface CommandParts {
  readonly cache: { all(): readonly RuntimePod[] }
  /** Returns how many commands run in a container: those of clients that have left, too. */
  processes(containerId: string): Promise<number>
}

/**
 * Bounds the commands that exec has started. Kubernetes has no bound: they are limited by the processes of a pod alone,
 * and what containerd holds for each is in no pod's memory. Namespaces share what a node can hold.
 */
export class CommandPlaces {
  readonly #parts: CommandParts
  /** Commands that are about to start, by the uid of the pod. */
  readonly #starting = new Map<string, number>()

  constructor(parts: CommandParts) {
    this.#parts = parts
  }

  /** Starts a command if there is a place for it. @throws ApiError TooManyRequests */
  async starting<T>(pod: string, start: () => Promise<T>): Promise<T> {
    this.#count(pod, 1)
    try {
      await this.#check(pod)
      return await start()
    } finally {
      this.#count(pod, -1)
    }
  }

  #count(pod: string, more: number): void {
    const count = (this.#starting.get(pod) ?? 0) + more
    if (count > 0) this.#starting.set(pod, count)
    else this.#starting.delete(pod)
  }

  async #check(pod: string): Promise<void> {
    const { cache } = this.#parts
    const pods = cache.all()
    const counts = new Map(
      await Promise.all(pods.map(async (one) => [one.identity.uid, await this.#running(one)] as const)),
    )
    const own = (counts.get(pod) ?? 0) + (this.#starting.get(pod) ?? 0)
    if (own > MOST_OF_POD) throw refused(`${MOST_OF_POD} commands in the pod`)
    const namespace = pods.find(({ identity }) => identity.uid === pod)?.identity.namespace
    let [ofNamespace, ofNode] = [0, 0]
    for (const { identity } of pods) {
      const count = (counts.get(identity.uid) ?? 0) + (this.#starting.get(identity.uid) ?? 0)
      ofNode += count
      if (identity.namespace === namespace) ofNamespace += count
    }
    if (ofNamespace > OF_FREE * (MOST_OF_NODE - ofNode))
      throw refused(`${ofNamespace - 1} commands in the namespace's pods on the node`)
  }

  async #running({ containers }: RuntimePod): Promise<number> {
    const running = containers.filter(({ state }) => state === "running")
    const counts = await Promise.all(running.map(({ id }) => this.#parts.processes(id)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

const refused = (what: string) => new ApiError("TooManyRequests", `there are ${what} already: end some, and try again`)
