import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { ruleAllowsKind, type Asked } from "./rules.ts"

/** Kinds that are kept; emptied when full. */
const MOST_KEPT = 10_000

/** Rules, and which of them allow a verb on some object of a kind, whatever its name: most users ask the same few things over and over. */
export class RulesByKind<R extends { readonly rule: PolicyRule }> {
  readonly all: readonly R[]
  readonly #byKind = new Map<string, readonly R[]>()

  constructor(rules: readonly R[]) {
    this.all = rules
  }

  for(asked: Asked): readonly R[] {
    const id = `${asked.verb} ${asked.group} ${asked.resource}/${asked.subresource ?? ""}`
    let known = this.#byKind.get(id)
    if (known === undefined) {
      if (this.#byKind.size >= MOST_KEPT) this.#byKind.clear()
      this.#byKind.set(id, (known = this.all.filter(({ rule }) => ruleAllowsKind(rule, asked))))
    }
    return known
  }
}
