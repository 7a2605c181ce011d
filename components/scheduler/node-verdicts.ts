import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { CycleState, Plugin, Refusal, Weighted } from "./framework.ts"
import type { NodeInfo } from "./node-info.ts"

/** What the plugins with a signature say of a node: a refusal, or the weighted sum of their scores. */
export interface Verdict {
  readonly generation: number
  readonly refusal: Refusal | undefined
  readonly score: number
}

/** Signatures whose verdicts are kept. Pods come in groups from a few templates; the oldest group makes way. */
const MOST_SIGNATURES = 32

/**
 * Verdicts on nodes, kept by the pods' signature until the node changes: placing the hundredth pod of a Deployment
 * looks only at the nodes that took the pods before it. At 1,000 nodes this was a quarter of the time of a whole
 * cluster. Source: KEP-5598, opportunistic batching. Differs from upstream: that keeps the ranking of the last pod
 * only.
 */
export class NodeVerdicts {
  readonly #signing: readonly Plugin[]
  readonly #scoring: readonly Weighted[]
  readonly #bySignature = new Map<string, SignatureVerdicts>()

  constructor(plugins: readonly Weighted[]) {
    this.#signing = plugins.map(({ plugin }) => plugin).filter((plugin) => plugin.signature !== undefined)
    this.#scoring = plugins.filter(({ plugin }) => isKeptScore(plugin))
  }

  /** The verdicts for pods like this one. `filters` are the plugins with a signature that did not Skip the pod. */
  for(pod: Pod, filters: readonly Plugin[]): SignatureVerdicts {
    const signature = JSON.stringify(this.#signing.map((plugin) => plugin.signature!(pod)))
    let found = this.#bySignature.get(signature)
    if (found === undefined) {
      if (this.#bySignature.size >= MOST_SIGNATURES) this.#bySignature.delete(this.#bySignature.keys().next().value!)
      found = new SignatureVerdicts(filters, this.#scoring)
    } else this.#bySignature.delete(signature)
    this.#bySignature.set(signature, found) // the one used last stands last
    return found
  }
}

/** Is the plugin's score part of a verdict? One that is normalized, or that may Skip, depends on the other nodes. */
export const isKeptScore = ({ signature, score, preScore, normalize }: Plugin): boolean =>
  signature !== undefined && score !== undefined && preScore === undefined && normalize === undefined

export class SignatureVerdicts {
  /** By `NodeInfo.index`; removing a node moves the others, which is why the node is part of the entry. */
  readonly #byIndex: ({ readonly node: NodeInfo; readonly verdict: Verdict } | undefined)[] = []
  readonly #filters: readonly Plugin[]
  readonly #scoring: readonly Weighted[]

  constructor(filters: readonly Plugin[], scoring: readonly Weighted[]) {
    this.#filters = filters
    this.#scoring = scoring
  }

  of(state: CycleState, pod: Pod, node: NodeInfo): Verdict {
    const known = this.#byIndex[node.index]
    if (known !== undefined && known.node === node && known.verdict.generation === node.generation) return known.verdict
    const refusal = firstRefusal(this.#filters, state, pod, node)
    let score = 0
    if (refusal === undefined)
      for (const { plugin, weight } of this.#scoring) score += weight * plugin.score!(state, pod, node)
    const verdict = { generation: node.generation, refusal, score }
    this.#byIndex[node.index] = { node, verdict }
    return verdict
  }
}

/** What the first plugin that refuses the node says; undefined when none does. */
export function firstRefusal(
  filters: readonly Plugin[],
  state: CycleState,
  pod: Pod,
  node: NodeInfo,
): Refusal | undefined {
  for (const plugin of filters) {
    const status = plugin.filter!(state, pod, node)
    if (status.code !== "Success") return { plugin: plugin.name, status }
  }
  return undefined
}
