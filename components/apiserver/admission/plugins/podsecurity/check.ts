import type { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { containersOf } from "../pods.ts"

export type Container = ReturnType<typeof containersOf>[number]

/** What a pod does against a rule: in a word or two, and in detail. */
export interface Finding {
  readonly reason: string
  readonly detail: string
}

/** One rule of the Pod Security Standards, by upstream's name of it. */
export interface Check {
  readonly id: string
  /** The minor version of Kubernetes that brought it. */
  readonly since: number
  /** The rule of the lower level that this one takes the place of. */
  readonly replaces?: string
  /** `version`: the minor version of Kubernetes as whose rules are asked for. */
  find(pod: Pod, version: number): Finding | undefined
}

/** A pod in a user namespace may do some things that others may not. */
export const hasUserNamespace = ({ spec }: Pod): boolean => spec.hostUsers === false
export const isWindows = ({ spec }: Pod): boolean => spec.os?.name === "windows"

/** Values once each and in order. */
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
 * What pods and containers set that may not be set: who does, and to what. `of` gives the setting of a security
 * context, `bad` what is wrong with it.
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
