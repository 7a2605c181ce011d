/**
 * What becomes of the flags of Kubernetes' programs, which k3s takes by `--kube-apiserver-arg` and the like: each does
 * something here, or means nothing, or is refused.
 */
import { UsageError } from "../cli/usage-error.ts"
import type { ForeignFlag } from "../cli/foreign-flags.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"

export type UpstreamFlag =
  /** The flag of k3ts that does the same. */
  | { readonly done: string }
  /** It is accepted and changes nothing, for this reason, which is told at the start. */
  | { readonly idle: string }
  /** These values say what is so here anyway, and are accepted as `idle` ones; others are refused. */
  | { readonly holds: readonly string[]; readonly why: string }
  | { readonly refused: string }

/** The flags of one program, by their names. */
export type UpstreamFlags = Readonly<Record<string, UpstreamFlag>>

const each = (names: readonly string[], flag: UpstreamFlag): UpstreamFlags =>
  Object.fromEntries(names.map((name) => [name, flag]))

/** Flags that k3ts has under the same names. */
export const same = (names: readonly string[]): UpstreamFlags =>
  Object.fromEntries(names.map((name) => [name, { done: name }]))
/** Flags that k3ts has under other names. */
export const renamed = (names: Readonly<Record<string, string>>): UpstreamFlags =>
  Object.fromEntries(Object.entries(names).map(([name, done]) => [name, { done }]))
export const idle = (why: string, names: readonly string[]): UpstreamFlags => each(names, { idle: why })
export const refused = (why: string, names: readonly string[]): UpstreamFlags => each(names, { refused: why })
/** Flags whose only values are these. */
export const holds = (values: readonly string[], why: string, names: readonly string[]): UpstreamFlags =>
  each(names, { holds: values, why })

/** The list flag to which flags without effect are added, as `PROGRAM/NAME`. */
export const WITHOUT_EFFECT = "without-effect"

/** Takes `name=value`, as `--kube-proxy-arg proxy-mode=iptables` has it. */
export const passes = (program: string, flags: UpstreamFlags): ForeignFlag => ({
  kind: "value",
  becomes(written) {
    const [name, value] = nameAndValue(written)
    const flag = Object.hasOwn(flags, name) ? flags[name]! : undefined
    if (flag === undefined) throw new UsageError(unknown(program, name, Object.keys(flags)))
    if ("done" in flag) return [[flag.done, value]]
    const refusal = refusalOf(flag, value)
    if (refusal !== undefined) throw new UsageError(`k3ts has no ${JSON.stringify(name)} of ${program}: ${refusal}`)
    return [[WITHOUT_EFFECT, `${program}/${name}`]]
  },
})

/** Returns why a value is refused; undefined where it is accepted, without effect. */
export function refusalOf(flag: Exclude<UpstreamFlag, { readonly done: string }>, value: string): string | undefined {
  if ("refused" in flag) return flag.refused
  if ("idle" in flag || flag.holds.includes(value)) return undefined
  return `${flag.why}; only ${flag.holds.join(" and ")} can be given`
}

export const unknown = (program: string, name: string, names: readonly string[]): string =>
  `${program} of Kubernetes 1.36 has no flag ${JSON.stringify(name)}${didYouMean(name, names)}`

/** Splits `--name=value`; a name alone means true. */
export function nameAndValue(written: string): readonly [name: string, value: string] {
  const text = written.replace(/^--/, "")
  const equals = text.indexOf("=")
  return equals < 0 ? [text, "true"] : [text.slice(0, equals), text.slice(equals + 1)]
}

/** Returns what is told about a flag: in the log, and in the reference. */
export function meaningOf(flag: UpstreamFlag): string {
  if ("done" in flag) return `the flag \`--${flag.done}\``
  if ("refused" in flag) return `refused: ${flag.refused}`
  if ("idle" in flag) return `without effect: ${flag.idle}`
  const values = flag.holds.map((value) => (value === "" ? "the empty text" : `\`${value}\``)).join(" or ")
  return `without effect if ${values}, else refused: ${flag.why}`
}
