import { finding } from "../answer.ts"
import { doctor, healthy, through, unwell } from "../doctor.ts"
import { API_SERVICES, refTo, SERVICES } from "../reading/kinds.ts"

export const apiServiceDoctor = doctor(API_SERVICES, async ({ spec, status }, ward) => {
  const available = status.conditions?.find(({ type }) => type === "Available")
  if (available?.status === "True") return healthy("is available")
  const summary = "is not available"
  const own = finding(
    "apiservice-unavailable",
    `it is not available: ${available?.message ?? available?.reason ?? "nobody has tried it yet"}`,
    {
      evidence: [`Available is ${available?.status ?? "not set"}: ${available?.reason ?? ""}`],
    },
  )
  if (spec.service?.name === undefined) return unwell(summary, [own])
  const ref = refTo(SERVICES, spec.service.namespace, spec.service.name)
  const behind = through(ref, await ward.ask(ref))
  return unwell(summary, behind.length > 0 ? behind : [own])
})
