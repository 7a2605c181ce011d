import { int64Of } from "../../../../../apimachinery/go/go-text.ts"
import type { NodeSelectorRequirement, NodeSelectorTerm } from "./affinity.ts"
import type { Node } from "../../node/node.ts"
import type { PodSpec } from "../podspec.ts"

/** The nodes that a pod selects by its nodeSelector and its required node affinity. */

export const requiredTerms = (spec: PodSpec): readonly NodeSelectorTerm[] | undefined =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms

/**
 * Whether the node's labels and name match the pod's nodeSelector and required node affinity. Source: component-helpers
 * scheduling/corev1/nodeaffinity.
 */
export function runsOn(spec: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {}
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false
  const terms = requiredTerms(spec)
  return terms === undefined || terms.some((term) => !isEmptyTerm(term) && matchesTerm(term, node))
}

/** A term without requirements matches no node. */
export const isEmptyTerm = ({ matchExpressions, matchFields }: NodeSelectorTerm): boolean =>
  (matchExpressions?.length ?? 0) + (matchFields?.length ?? 0) === 0

export const matchesTerm = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean =>
  matchExpressions.every((requirement) => holds(requirement, node.metadata.labels?.[requirement.key])) &&
  matchFields.every((requirement) => requirement.key === "metadata.name" && holds(requirement, node.metadata.name))

function holds({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value)
    case "NotIn":
      return value === undefined || !values.includes(value)
    case "Exists":
      return value !== undefined
    case "DoesNotExist":
      return value === undefined
    case "Gt":
      return isAbove(value, values[0])
    case "Lt":
      return isAbove(values[0], value)
  }
}

/** Compares whole numbers; false where one is none. Source: apimachinery pkg/labels/selector.go Requirement.Matches. */
function isAbove(text: string | undefined, other: string | undefined): boolean {
  const [number, bound] = [text, other].map((one) => (one === undefined ? undefined : int64Of(one)))
  return number !== undefined && bound !== undefined && number > bound
}
