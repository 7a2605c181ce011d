import type { NodeSelectorTerm, PreferredSchedulingTerm } from "../../../pkg/api/core/v1/pod/scheduling/affinity.ts"
import {
  isEmptyTerm,
  matchesTerm,
  requiredTerms,
  runsOn,
} from "../../../pkg/api/core/v1/pod/scheduling/node-selection.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { NodeAffinityArgs } from "../config/plugin-args.ts"
import { normalized, SKIP, SUCCESS, unresolvable, type Plugin } from "../framework.ts"

/**
 * Filters nodes by the pod's nodeSelector and required node affinity, and scores them by its preferred node affinity;
 * an affinity of the profile applies beside. Source: plugins/nodeaffinity, component-helpers nodeaffinity.
 */
export const nodeAffinity = ({ addedAffinity }: NodeAffinityArgs): Plugin => {
  const enforced = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  const added = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const preferred = (pod: Pod): readonly PreferredSchedulingTerm[] => {
    const own = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution
    return added.length === 0 ? (own ?? []) : [...added, ...(own ?? [])]
  }
  return {
    name: "NodeAffinity",
    eventsToRegister: ["Node/Add", "Node/UpdateLabel", "Pod/Update"],
    signature: ({ spec }) => [spec.nodeSelector, spec.affinity?.nodeAffinity],
    preFilter(_state, pod) {
      const terms = requiredTerms(pod.spec)
      if (pod.spec.nodeSelector === undefined && terms === undefined && enforced === undefined) return SKIP
      // If every term names its nodes, as for daemon pods, only these are filtered.
      const named = terms?.map(namedNodes)
      return named === undefined || named.some((names) => names === undefined)
        ? SUCCESS
        : { nodes: new Set(named.flatMap((names) => names!)) }
    },
    filter(_state, pod, { node }) {
      if (enforced !== undefined && !enforced.some((term) => !isEmptyTerm(term) && matchesTerm(term, node)))
        return unresolvable("node(s) didn't match scheduler-enforced node affinity")
      return runsOn(pod.spec, node) ? SUCCESS : unresolvable("node(s) didn't match Pod's node affinity/selector")
    },
    preScore: (_state, pod) => (preferred(pod).length === 0 ? SKIP : SUCCESS),
    score: (_state, pod, { node }) =>
      preferred(pod).reduce(
        (sum, { weight, preference }) =>
          isEmptyTerm(preference) || matchesTerm(preference, node) ? sum + weight : sum,
        0,
      ),
    normalize: normalized(false),
  }
}

/** Returns the node names of a term with `metadata.name In [one]`; undefined for other terms. */
const namedNodes = ({ matchFields }: NodeSelectorTerm): readonly string[] | undefined =>
  matchFields?.find(({ key, operator, values }) => key === "metadata.name" && operator === "In" && values?.length === 1)
    ?.values
