import { pushAll } from "../../../lists/push-all.ts"
import { checkVariable } from "../create/key-values.ts"

/** A variable of a container, as the API has it. */
export interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: object
}

/** Splits arguments into resources and changes of variables; undefined when a resource follows a change. */
export function splitArgs(
  args: readonly string[],
): { readonly resources: readonly string[]; readonly specs: readonly string[] } | undefined {
  const isSpec = (text: string) => /^[^\n]+=/m.test(text) || text.endsWith("-")
  const first = args.findIndex(isSpec)
  if (first === -1) return { resources: args, specs: [] }
  const specs = args.slice(first)
  return specs.every(isSpec) ? { resources: args.slice(0, first), specs } : undefined
}

export interface Changes {
  readonly set: readonly Variable[]
  readonly remove: readonly string[]
  readonly readsInput: boolean
}

/**
 * Reads `NAME=value`, `NAME-`, and `-` for the lines of the input. Source: kubectl pkg/cmd/set/env/env_parse.go.
 * @throws Error for anything else
 */
export async function parseVariables(specs: readonly string[], readInput: () => Promise<string>): Promise<Changes> {
  const set: Variable[] = []
  const remove: string[] = []
  const named = new Set<string>()
  let readsInput = false
  for (const spec of specs) {
    const at = spec.indexOf("=")
    if (spec === "-") {
      pushAll(set, linesOf(await readInput()))
      readsInput = true
    } else if (at !== -1) {
      const name = spec.slice(0, at)
      checkVariable(name)
      named.add(name)
      set.push(variable(name, spec.slice(at + 1)))
    } else if (spec.endsWith("-")) remove.push(spec.slice(0, -1))
    else throw new Error(`unknown environment variable: ${spec}`)
  }
  if (remove.some((name) => named.has(name)))
    throw new Error("can not both modify and remove the same environment variable in the same command")
  return { set, remove, readsInput }
}

const variable = (name: string, value: string): Variable => (value === "" ? { name } : { name, value })

const linesOf = (text: string): readonly Variable[] =>
  text.split(/\r?\n/).flatMap((line) => {
    const spec = line.split("#", 1)[0]!
    const at = spec.indexOf("=")
    return at === -1 ? [] : [variable(spec.slice(0, at), spec.slice(at + 1))]
  })

/** Returns variables with changes: those that are there keep their places. Source: kubectl pkg/cmd/set/helper.go. */
export function changedVariables(
  before: readonly Variable[],
  { set, remove }: Pick<Changes, "set" | "remove">,
): readonly Variable[] {
  const done = new Set(remove)
  const out: Variable[] = []
  for (const old of before) {
    if (done.has(old.name)) continue
    const newer = set.find(({ name }) => name === old.name)
    if (newer !== undefined) done.add(old.name)
    out.push(newer ?? old)
  }
  for (const added of set) {
    if (done.has(added.name)) continue
    done.add(added.name)
    out.push(added)
  }
  return out
}

/** Where the value of a variable is from. */
export interface Sources {
  readonly configMapKeyRef?: { readonly name?: string; readonly key: string }
  readonly secretKeyRef?: { readonly name?: string; readonly key: string }
  readonly fieldRef?: { readonly fieldPath: string }
  readonly resourceFieldRef?: { readonly containerName?: string; readonly resource: string; readonly divisor?: string }
}

/** Says where a value is from. */
export function sourceText(from: object): string {
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = from as Sources
  if (configMapKeyRef !== undefined) return `configmap ${configMapKeyRef.name ?? ""}, key ${configMapKeyRef.key}`
  if (secretKeyRef !== undefined) return `secret ${secretKeyRef.name ?? ""}, key ${secretKeyRef.key}`
  if (fieldRef !== undefined) return `field path ${fieldRef.fieldPath}`
  if (resourceFieldRef === undefined) return "invalid valueFrom"
  const { containerName = "", resource } = resourceFieldRef
  return `resource field ${containerName === "" ? "" : `${containerName}/`}${resource}`
}
