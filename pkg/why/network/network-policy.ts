import { finding } from "../answer.ts"
import { doctor, healthy } from "../doctor.ts"
import { PODS, POLICIES } from "../reading/kinds.ts"
import { directionsOf, selectsPod } from "./policies.ts"

/** A policy is well as it is; which pods it selects is what it often gets wrong. */
export const networkPolicyDoctor = doctor(POLICIES, async (policy, { reader }) => {
  const pods = (await reader.list(PODS, policy.metadata.namespace)).filter((pod) => selectsPod(policy, pod))
  const summary = `selects ${pods.length} pod${pods.length === 1 ? "" : "s"} for ${directionsOf(policy).join(" and ").toLowerCase()}`
  return healthy(
    summary,
    pods.length > 0
      ? []
      : [finding("policy-selects-nothing", "its podSelector matches no pod of its namespace", { weight: "note" })],
  )
})
