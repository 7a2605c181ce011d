import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { ApiCall, ObjectList } from "../../../../pkg/client/client.ts"
import { shortForm } from "../../../../pkg/history/short-form.ts"
import { isWell } from "./is-well.ts"

/** The most objects to list, and the most pods whose state is told. */
const OBJECTS = 10
const STATES = 2

/** What a test has read since its last wait began, for the message when the wait fails. */
export class LastSeen {
  #objects = new Map<string, KubeObject>()
  #empty = new Set<string>()

  /** Forgets what was read before. */
  begin(): void {
    if (this.#objects.size > 0) this.#objects = new Map()
    if (this.#empty.size > 0) this.#empty = new Set()
  }

  note({ verb, resource }: ApiCall, answer: unknown): void {
    if (verb === "list") {
      // The response of a list.
      const { items } = answer as ObjectList<KubeObject>
      if (items.length === 0) this.#empty.add(resource.plural)
      for (const object of items) this.#objects.set(`${resource.prefix}${object.metadata.uid}`, object)
    } else if (verb === "get") {
      const object = answer as KubeObject
      this.#objects.set(`${resource.prefix}${object.metadata.uid}`, object)
    }
  }

  /** Returns a line for each object, and the state of pods that are not ready as `podInWords` tells it. */
  inWords(podInWords: (pod: Pod) => readonly string[]): readonly string[] {
    const objects = [...this.#objects.values()]
    const pods = objects.filter(
      (object): object is Pod => object.kind === Pod.kind && object.apiVersion === Pod.apiVersion,
    )
    const states = pods
      .filter((pod) => !isWell(pod))
      .slice(0, STATES)
      .map((pod) => podInWords(pod))
    return [
      ...[...this.#empty].map((plural) => `no ${plural}`),
      ...objects.slice(0, OBJECTS).map(shortForm),
      ...(objects.length > OBJECTS ? [`and ${objects.length - OBJECTS} more objects`] : []),
      ...states.map((lines) => lines.join("\n  ")),
    ]
  }
}
