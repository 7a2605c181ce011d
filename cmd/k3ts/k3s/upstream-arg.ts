/**
 * What becomes of the flags of Kubernetes' programs, which k3s takes by `--kube-apiserver-arg` and the like: each does
 * something here, or means nothing, or is refused.
 */
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

/** Returns why a value is refused; undefined where it is accepted, without effect. */
export function refusalOf(flag: Exclude<UpstreamFlag, { readonly done: string }>, value: string): string | undefined {
  if ("refused" in flag) return flag.refused
  if ("idle" in flag || flag.holds.includes(value)) return undefined
  return `${flag.why}; only ${flag.holds.join(" and ")} can be given`
}

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
