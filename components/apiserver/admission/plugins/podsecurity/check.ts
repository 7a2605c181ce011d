import type { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { containersOf } from "../pods.ts"

export type Container = ReturnType<typeof containersOf>[number]

/** How a pod breaks a rule: `reason` in a few words, `detail` with containers and values. */
export interface Finding {
  readonly reason: string
  readonly detail: string
}

/** One rule of the Pod Security Standards, with upstream's id. */
export interface Check {
  readonly id: string
  /** The first minor version of the standards that has this rule. */
  readonly since: number
  /** The id of the baseline rule that this rule replaces. */
  readonly replaces?: string
  /**
   * Returns how the pod breaks the rule, undefined when it does not. `version` is the minor version of the standards to
   * apply.
   */
  find(pod: Pod, version: number): Finding | undefined
}

/** Whether the pod runs in a user namespace, for which some rules are relaxed. */
export const hasUserNamespace = ({ spec }: Pod): boolean => spec.hostUsers === false
export const isWindows = ({ spec }: Pod): boolean => spec.os?.name === "windows"

/** Returns the distinct values, sorted. */
export const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].sort()
export const quoted = (values: readonly string[]): string => `"${values.join('", "')}"`
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)
export const containersText = (names: readonly string[]): string =>
  `${plural(names.length, "container")} ${quoted(names)}`

export const namesWhere = (pod: Pod, bad: (container: Container) => boolean): readonly string[] =>
  containersOf(pod)
    .filter(bad)
    .map(({ name }) => name)

/**
 * Finds pods and containers that have a forbidden setting. `of` reads the setting from a security context, `bad` says
 * whether a value is forbidden. Returns who has such settings and the values.
 */
export function badSetters<T>(
  pod: Pod,
  of: (context: NonNullable<Container["securityContext"]> | Pod["spec"]["securityContext"]) => T | undefined,
  isBad: (setting: T) => boolean,
): { readonly who: string; readonly settings: readonly T[] } | undefined {
  const settings: T[] = []
  const sets = (context: Parameters<typeof of>[0] | undefined): boolean => {
    const setting = context === undefined ? undefined : of(context)
    if (setting === undefined || !isBad(setting)) return false
    settings.push(setting)
    return true
  }
  const own = sets(pod.spec.securityContext)
  const names = namesWhere(pod, ({ securityContext }) => sets(securityContext))
  const who = [...(own ? ["pod"] : []), ...(names.length > 0 ? [containersText(names)] : [])]
  return who.length === 0 ? undefined : { who: who.join(" and "), settings }
}
