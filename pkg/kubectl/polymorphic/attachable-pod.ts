import { errorMessage } from "../../errors/error-message.ts"
import type { Factory } from "../factory/factory.ts"
import type { Unstructured } from "../rest/json.ts"
import type { Pod } from "./pod.ts"
import { byActivity, goTypeOf, podSelectorOf, podsMatching } from "./pods-of.ts"

/**
 * Returns the pod that an object means: itself, or the most useful one of its pods. Source: kubectl
 * pkg/polymorphichelpers/attachablepodforobject.go.
 */
export async function attachablePod(factory: Factory, object: Unstructured, timeoutMs: number): Promise<Pod> {
  if (object.kind === "Pod") return object as Pod
  let selector: string
  try {
    selector = podSelectorOf(object)
  } catch (err) {
    throw new Error(`cannot attach to ${goTypeOf(object)}: ${errorMessage(err)}`, { cause: err })
  }
  const [pod] = await podsMatching(factory, object.metadata?.namespace ?? "", selector, {
    timeoutMs,
    order: byActivity,
  })
  return pod!
}
