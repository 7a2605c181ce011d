import type { PodDisruptionBudget } from "../../api/policy/v1/poddisruptionbudget.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { selectorText } from "./metadata.ts"
import { description } from "./prefix-writer.ts"

const BUDGETS = { group: "policy", version: "v1", resource: "poddisruptionbudgets" }

export const describePodDisruptionBudget: Describer = async (describing, namespace, name) => {
  const budget = await describing.client.get<PodDisruptionBudget>(BUDGETS, namespace, name)
  const events = await eventsOf(describing, budget)
  const { metadata, spec, status } = budget
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    if (spec?.minAvailable !== undefined) w.row(0, "Min available:", spec.minAvailable)
    else if (spec?.maxUnavailable !== undefined) w.row(0, "Max unavailable:", spec.maxUnavailable)
    w.row(0, "Selector:", spec?.selector ? selectorText(spec.selector) : "<unset>")
    w.row(0, "Status:")
    w.row(2, "Allowed disruptions:", status?.disruptionsAllowed ?? 0)
    w.row(2, "Current:", status?.currentHealthy ?? 0)
    w.row(2, "Desired:", status?.desiredHealthy ?? 0)
    w.row(2, "Total:", status?.expectedPods ?? 0)
    describeEvents(w, events, describing.now())
  })
}
