import type { PodDisruptionBudget } from "../../api/policy/v1/poddisruptionbudget.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import { finding, type Finding } from "../answer.ts"
import { controllerOf, doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { BUDGETS, PODS } from "../reading/kinds.ts"
import { podFindings } from "../workloads/pods.ts"

export const budgetDoctor = doctor(BUDGETS, async (budget, ward) => {
  const { status } = budget
  const { expectedPods = 0, currentHealthy = 0, desiredHealthy = 0, disruptionsAllowed = 0 } = status
  const summary = `${disruptionsAllowed} disruptions allowed: ${currentHealthy} of ${expectedPods} pods healthy, ${desiredHealthy} must be`
  const pods = selectedBy(budget, await ward.reader.list(PODS, budget.metadata.namespace))
  if (pods.length === 0)
    return healthy(summary, [
      finding("budget-selects-nothing", "its selector matches no pod, so it protects nothing", { weight: "note" }),
    ])
  if (disruptionsAllowed > 0) return healthy(summary)
  return unwell(summary, await blockFindings(budget, pods, ward))
})

/** Returns the pods that a budget selects. */
export const selectedBy = (budget: PodDisruptionBudget, pods: readonly Pod[]): readonly Pod[] => {
  const selector = fromLabelSelector(budget.spec.selector)
  return pods.filter(
    (pod) =>
      pod.metadata.namespace === budget.metadata.namespace &&
      selector.matches(pod.metadata.labels) &&
      !["Succeeded", "Failed"].includes(pod.status.phase ?? ""),
  )
}

/** Returns why a budget allows no disruption: it never does, or pods are not healthy. */
export async function blockFindings(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  ward: Ward,
): Promise<readonly Finding[]> {
  const { expectedPods = 0, currentHealthy = 0, desiredHealthy = 0, conditions = [] } = budget.status
  const { name = "", namespace = "" } = budget.metadata
  const words = `PodDisruptionBudget ${namespace}/${name}`
  const failed = conditions.find(
    ({ type, status, reason }) => type === "DisruptionAllowed" && status === "False" && reason === "SyncFailed",
  )
  if (failed !== undefined) return [finding("budget-failed", `${words} cannot be reckoned: ${failed.message ?? ""}`)]
  if (expectedPods === 0 && pods.some((pod) => controllerOf(pod) === undefined))
    return [
      finding(
        "budget-unmanaged-pods",
        `${words} never lets a pod be evicted: pods that it selects have no controller, which would say how many there should be`,
        {
          evidence: pods.slice(0, 3).map(({ metadata }) => `pod ${metadata.name} has no controller`),
          hints: [
            "use minAvailable with a number instead of maxUnavailable or a percentage, or run the pods by a controller",
          ],
        },
      ),
    ]
  if (expectedPods <= desiredHealthy && expectedPods > 0) {
    const rule =
      budget.spec.maxUnavailable === undefined
        ? `minAvailable ${budget.spec.minAvailable ?? 1} of ${expectedPods} pods`
        : `maxUnavailable ${budget.spec.maxUnavailable}`
    return [
      finding("budget-never-allows", `${words} never lets a pod be evicted: ${rule} leaves none to spare`, {
        hints: ["run more pods, or let the budget spare one: a drain waits for ever otherwise"],
      }),
    ]
  }
  const behind = await podFindings(pods, ward)
  if (behind.length > 0)
    return behind.map((one) => ({
      ...one,
      cause: {
        ...one.cause,
        evidence: [`${words} needs ${desiredHealthy} healthy pods and has ${currentHealthy}`, ...one.cause.evidence],
      },
    }))
  return [
    finding(
      "budget-used-up",
      `${words} has ${currentHealthy} healthy pods and needs ${desiredHealthy}: it allows no eviction now`,
      {
        weight: "waiting",
      },
    ),
  ]
}
