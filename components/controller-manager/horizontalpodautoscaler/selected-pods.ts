import { parseLabelSelector, type LabelMatcher } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { Scale } from "../../../pkg/api/autoscaling/v1/scale.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Informer } from "../../../pkg/client/informer.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { PodSelectors } from "./selectors.ts"

/** Why the pods of a target cannot be told, in the words of the Event and of the condition ScalingActive. */
export class SelectorFailure extends Error {
  readonly event: string
  readonly reason: string
  readonly condition: string

  constructor(
    message: string,
    words: { readonly event: string; readonly reason: string; readonly condition?: string },
  ) {
    super(message)
    this.event = words.event
    this.reason = words.reason
    this.condition = words.condition ?? message
  }
}

/**
 * Returns the pods that are scaled, and remembers their selector for the autoscaler `owner`. Source:
 * validateAndParseSelector. @throws SelectorFailure where the target says nothing, or nonsense, of its pods, or another
 * autoscaler scales any of them too
 */
export function podsOf(
  { status }: Scale,
  owner: { readonly namespace: string; readonly name: string },
  selectors: PodSelectors,
  pods: Pick<Informer<Pod>, "list">,
): readonly Pod[] {
  const { namespace } = owner
  const { selector = "" } = status
  const matcher = matcherOf(selector)
  selectors.set(owner, matcher)
  const selected = pods.list(namespace).filter((pod) => matcher.matches(pod.metadata.labels))
  const selecting = selectors.selecting(namespace, selected)
  if (selecting.length <= 1) return selected
  const named = selecting.map(({ name }) => `{${name} ${namespace}}`).join(" ")
  const message = `pods by selector ${selector} are controlled by multiple HPAs: [${named}]`
  throw new SelectorFailure(message, { event: "AmbiguousSelector", reason: "AmbiguousSelector" })
}

function matcherOf(selector: string): LabelMatcher {
  const reason = "InvalidSelector"
  const condition = "the HPA target's scale is missing a selector"
  if (selector === "")
    throw new SelectorFailure("selector is required", { event: "SelectorRequired", reason, condition })
  try {
    return parseLabelSelector(selector)
  } catch (err) {
    const why = errorMessage(err)
    const message = `couldn't convert selector into a corresponding internal selector object: ${why}`
    throw new SelectorFailure(message, { event: reason, reason })
  }
}
