import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { ruleAllowsKind, type Asked } from "./rules.ts"

/** Kinds whose rules are remembered; emptied when full. */
const MOST_KEPT = 1000
/** Names of resources and groups are DNS names. What is longer is no kind, and costs memory. */
const LONGEST_ID = 512

/**
 * Rules, and which of them allow a verb on some object of a kind, whatever its name: most users ask the same few things
 * over and over.
 */
export class RulesByKind<R extends { readonly rule: PolicyRule }> {
  readonly all: readonly R[]
  readonly #byKind = new Map<string, readonly R[]>()

  constructor(rules: readonly R[]) {
    this.all = rules
  }

  /**
   * The rules that allow what is asked, if the name fits. That there are none is not remembered: anybody can ask for
   * kinds that do not exist.
   */
  for(asked: Asked): readonly R[] {
    const id = `${asked.verb} ${asked.group} ${asked.resource}/${asked.subresource ?? ""}`
    const known = this.#byKind.get(id)
    if (known !== undefined) return known
    const found = this.all.filter(({ rule }) => ruleAllowsKind(rule, asked))
    if (found.length === 0 || id.length > LONGEST_ID) return found
    if (this.#byKind.size >= MOST_KEPT) this.#byKind.clear()
    this.#byKind.set(id, found)
    return found
  }
}
