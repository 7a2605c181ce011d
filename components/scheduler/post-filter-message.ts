import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Diagnosis } from "./framework.ts"
import type { CycleContext } from "./schedule-one.ts"

/** The plugin that may give back devices, which is asked before preemption. */
const CLAIMS = "DynamicResources"
/** Plugins whose preFilter comes after that of DynamicResources. */
const AFTER_CLAIMS: ReadonlySet<string> = new Set([CLAIMS, "NodeDeclaredFeatures", "GangScheduling"])

/**
 * Returns what a message about a pod that fits nowhere says of the plugins that could help, where `preemption` is what
 * preemption says, if it is on. Source: the postFilter of plugins/dynamicresources, which comes first; "not found" is
 * what it answers, and all that is said, where a pod was refused before it has looked at the pod.
 */
export function postFilterMessage(
  pod: Pod,
  { preFilter }: Diagnosis,
  plugins: CycleContext["plugins"],
  preemption: string,
): string {
  if (!plugins.some(({ plugin }) => plugin.name === CLAIMS && plugin.postFilter !== undefined)) return preemption
  if (preFilter !== undefined && !AFTER_CLAIMS.has(preFilter.plugin)) return "not found"
  const hasClaims = (pod.spec.resourceClaims ?? []).length > 0
  const claims = hasClaims ? "still not schedulable" : "no new claims to deallocate"
  return preemption === "" ? claims : `${claims}, ${preemption}`
}
