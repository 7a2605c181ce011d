import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { ApiCall, ObjectList } from "../../../../pkg/client/client.ts"
import { shortForm } from "../../../../pkg/history/short-form.ts"
import { isWell } from "./is-well.ts"

/** The most objects to list, and the most pods to explain. */
const OBJECTS = 10
const EXPLAINED = 2

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

  /** Returns a line for each object, with the result of `explain` for pods that are not ready. */
  async inWords(explain: (pod: Pod) => Promise<string>): Promise<readonly string[]> {
    const objects = [...this.#objects.values()]
    const pods = objects.filter(
      (object): object is Pod => object.kind === Pod.kind && object.apiVersion === Pod.apiVersion,
    )
    const explained = await Promise.all(
      pods
        .filter((pod) => !isWell(pod))
        .slice(0, EXPLAINED)
        .map((pod) => explain(pod)),
    )
    return [
      ...[...this.#empty].map((plural) => `no ${plural}`),
      ...objects.slice(0, OBJECTS).map(shortForm),
      ...(objects.length > OBJECTS ? [`and ${objects.length - OBJECTS} more objects`] : []),
      ...explained.map((text) => text.replaceAll("\n", "\n  ")),
    ]
  }
}
