import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { isLabelValue, isQualifiedName, type Problem } from "../../../apimachinery/validation/names.ts"
import { Aggregate } from "../../errors/aggregate.ts"

export interface Taint {
  readonly key: string
  readonly value?: string
  /** Empty where all effects are meant. */
  readonly effect: string
  readonly timeAdded?: string
}

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]

/** What a command line sets and removes. */
export interface TaintChanges {
  readonly add: readonly Taint[]
  readonly remove: readonly Taint[]
}

/** Reads `key=value:effect`, `key:effect-` and `key-`. Source: kubectl pkg/cmd/taint/utils.go. @throws Error */
export function parseTaints(specs: readonly string[]): TaintChanges {
  const add: Taint[] = []
  const remove: Taint[] = []
  for (const spec of specs) {
    const taint = parseTaint(spec.endsWith("-") ? spec.slice(0, -1) : spec)
    if (spec.endsWith("-")) {
      remove.push({ key: taint.key, effect: taint.effect })
      continue
    }
    if (taint.effect === "") throw new Error(`invalid taint spec: ${spec}`)
    if (add.some((one) => isSame(one, taint)))
      throw new Error(
        `duplicated taints with the same key and effect: {${taint.key} ${taint.value ?? ""} ${taint.effect} <nil>}`,
      )
    add.push(taint)
  }
  return { add, remove }
}

function parseTaint(text: string): Taint {
  const [pair = "", effect = "", more] = text.split(":")
  if (more !== undefined) throw new Error(`invalid taint spec: ${text}`)
  if (!text.includes(":")) return { key: checkedKey(pair, text), effect: "" }
  if (!EFFECTS.includes(effect)) throw new Error(`invalid taint effect: ${effect}, unsupported taint effect`)
  const [key = "", value, extra] = pair.split("=")
  if (extra !== undefined) throw new Error(`invalid taint spec: ${text}`)
  if (value !== undefined) refuse(isLabelValue(value), text)
  return { key: checkedKey(key, text), effect, ...(value === undefined || value === "" ? {} : { value }) }
}

function checkedKey(key: string, text: string): string {
  refuse(isQualifiedName(key), text)
  return key
}

function refuse(problem: Problem | undefined, text: string): void {
  if (problem !== undefined) throw new Error(`invalid taint spec: ${text}, ${[problem].flat().join("; ")}`)
}

const isSame = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect

/** `key=value:effect`, as messages name a taint. */
const textOf = ({ key, value = "", effect }: Taint): string =>
  effect === ""
    ? value === ""
      ? key
      : `${key}=${value}:`
    : value === ""
      ? `${key}:${effect}`
      : `${key}=${value}:${effect}`

/**
 * Returns the taints that a node has in the end, and the word for what was done.
 * @throws Error when a taint is to be removed that is not there, or one is there already and is not to be replaced
 */
export function changedTaints(
  name: string,
  old: readonly Taint[],
  { add, remove }: TaintChanges,
  overwrite: boolean,
): { readonly taints: readonly Taint[]; readonly operation: string } {
  const taken = add.filter((taint) => old.some((one) => isSame(one, taint)))
  if (!overwrite && taken.length > 0)
    throw new Error(
      `node ${name} already has ${taken.map(({ key }) => key).join(",")} taint(s) with same effect(s) and --overwrite is false`,
    )
  let taints = [...add, ...old.filter((one) => !add.some((taint) => isSame(taint, one)))]
  const isAdded = taints.length !== old.length
  const errors: Error[] = []
  let isRemoved = false
  for (const taint of remove) {
    const left = taints.filter((one) => (taint.effect === "" ? one.key !== taint.key : !isSame(one, taint)))
    isRemoved = left.length !== taints.length
    if (!isRemoved) errors.push(new Error(`taint ${goQuoted(textOf(taint))} not found`))
    taints = left
  }
  if (errors.length > 0) throw new Aggregate(errors)
  const operation = (isAdded && isRemoved) || overwrite ? "modified" : isAdded ? "tainted" : "untainted"
  return { taints, operation }
}
