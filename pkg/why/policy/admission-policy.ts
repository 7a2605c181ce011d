import { nearest } from "../../names/suggest.ts"
import { finding, type Finding } from "../answer.ts"
import { doctor, healthy, unwell } from "../doctor.ts"
import { POLICY_BINDINGS, VALIDATING_POLICIES } from "../reading/kinds.ts"

/** A policy does nothing before a binding names it. */
export const validatingPolicyDoctor = doctor(VALIDATING_POLICIES, async ({ metadata, status }, { reader }) => {
  const { name = "" } = metadata
  const bindings = await reader.listIfAllowed(POLICY_BINDINGS)
  const own = bindings?.filter(({ spec }) => spec.policyName === name) ?? []
  const wrong = (status.typeChecking?.expressionWarnings ?? []).map(({ fieldRef, warning }) =>
    finding("policy-expression", `its ${fieldRef} is not of the right type: ${warning.trim()}`),
  )
  const unbound: readonly Finding[] =
    bindings === undefined || own.length > 0
      ? []
      : [
          finding("policy-unbound", "no ValidatingAdmissionPolicyBinding names it, so it is not enforced", {
            weight: "note",
          }),
        ]
  const summary = `has ${own.length} binding${own.length === 1 ? "" : "s"}`
  return wrong.length > 0 ? unwell(summary, [...wrong, ...unbound]) : healthy(summary, unbound)
})

export const policyBindingDoctor = doctor(POLICY_BINDINGS, async ({ spec }, { reader }) => {
  const { policyName = "" } = spec
  const summary = `binds ${policyName}`
  if ((await reader.get(VALIDATING_POLICIES, undefined, policyName)) !== undefined) return healthy(summary)
  const near = nearest(
    policyName,
    ((await reader.listIfAllowed(VALIDATING_POLICIES)) ?? []).map(({ metadata }) => metadata.name ?? ""),
  )
  return unwell(summary, [
    finding(
      "policy-missing",
      `ValidatingAdmissionPolicy ${policyName}, which it names, does not exist, so it enforces nothing` +
        (near === undefined ? "" : `; there is ${near}`),
    ),
  ])
})
