import type { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { BASELINE } from "./baseline.ts"
import type { Check, Finding } from "./check.ts"
import type { Standard } from "./policy.ts"
import { RESTRICTED } from "./restricted.ts"

/**
 * Returns how a pod breaks a standard, by the rules of the standard's version. Source:
 * k8s.io/pod-security-admission/policy/registry.go.
 */
export function violations(pod: Pod, { level, version }: Standard): readonly Finding[] {
  if (level === "privileged") return []
  const minor = version === "latest" ? Infinity : Number(version.slice("v1.".length))
  const there = ({ since }: Check) => since <= minor
  const further = level === "restricted" ? RESTRICTED.filter(there) : []
  const checks = [
    ...BASELINE.filter((check) => there(check) && !further.some(({ replaces }) => replaces === check.id)),
    ...further,
  ]
  return checks.flatMap((check) => check.find(pod, minor) ?? [])
}

export const detailsOf = (findings: readonly Finding[]): string =>
  findings.map(({ reason, detail }) => `${reason} (${detail})`).join(", ")
export const reasonsOf = (findings: readonly Finding[]): string => findings.map(({ reason }) => reason).join(", ")
