/**
 * A set of field paths in the form of managedFields (FieldsV1): a tree whose keys are path elements (`f:name` a field,
 * `k:{…}` a list item by its keys, `v:…` a list item by its value, `i:0` by its index). A node `{}` is a member; `{".":
 * {}, …}` is a member with others below it; a node without `.` only leads to members. The root is never a member, so
 * the empty set is `{}`. Trees are immutable and shared. Source: structured-merge-diff fieldpath/{set,serialize}.go.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet
}

/** At the root the empty set; below it, a member with nothing under it. */
export const LEAF: FieldSet = Object.freeze({})
export const NOTHING: FieldSet = LEAF
export const SELF = "."

export function isEmpty(set: FieldSet): boolean {
  for (const _element in set) return false
  return true
}
/** Whether the path to this node is in the set. Not for the root. */
export const isMember = (node: FieldSet): boolean => node[SELF] !== undefined || isEmpty(node)

/** Returns the union of two sets; `a` itself when `b` adds nothing. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  return isEmpty(a) ? b : isEmpty(b) ? a : unionOf(a, b)
}

function unionOf(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a
  const becomesMember = isMember(b) && !isMember(a)
  const start = (): Record<string, FieldSet> => (becomesMember || isMember(a) ? { [SELF]: LEAF, ...a } : { ...a })
  let out: Record<string, FieldSet> | undefined
  for (const element in b) {
    if (element === SELF) continue
    const mine = a[element]
    const both = mine === undefined ? b[element]! : unionOf(mine, b[element]!)
    if (both !== mine) (out ??= start())[element] = both
  }
  return out ?? (becomesMember ? start() : a)
}

/** Returns the members of `a` that are not in `b`; members below a removed one stay. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet =>
  isEmpty(a) || isEmpty(b) ? a : (differenceOf(a, b) ?? NOTHING)

function differenceOf(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (a === b) return undefined
  const before = isMember(a)
  const member = before && !isMember(b)
  let same = member === before
  const out: Record<string, FieldSet> = {}
  if (member) out[SELF] = LEAF
  for (const element in a) {
    if (element === SELF) continue
    const mine = a[element]!
    const kept = b[element] === undefined ? mine : differenceOf(mine, b[element])
    if (kept !== undefined) out[element] = kept
    if (kept !== mine) same = false
  }
  return same ? a : nodeOf(out)
}

/** Returns the members that are in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return isEmpty(a) || isEmpty(b) ? NOTHING : (intersectionOf(a, b) ?? NOTHING)
}

function intersectionOf(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const out: Record<string, FieldSet> = {}
  if (isMember(a) && isMember(b)) out[SELF] = LEAF
  for (const element in a) {
    if (element === SELF || b[element] === undefined) continue
    const both = intersectionOf(a[element]!, b[element])
    if (both !== undefined) out[element] = both
  }
  return nodeOf(out)
}

/** Returns the set without the given paths and all below them. Source: Set.RecursiveDifference. */
export function without(set: FieldSet, paths: readonly (readonly string[])[]): FieldSet {
  let rest = set
  for (const path of paths) rest = drop(rest, path, 0) ?? NOTHING
  return rest
}

/** Returns a node without what the path leads to from its step `at`. */
function drop(node: FieldSet, path: readonly string[], at: number): FieldSet | undefined {
  const element = path[at]
  if (element === undefined) return undefined
  const child = node[element]
  if (child === undefined) return node
  const kept = drop(child, path, at + 1)
  if (kept === child) return node
  const { [element]: _dropped, ...others } = node
  return nodeOf(kept === undefined ? others : { ...others, [element]: kept })
}

/**
 * Returns the members at or below one of the paths, whose steps are field names, or `*` for every item of a list.
 * Source: Set.FilterIncludeMatches.
 */
export function matching(set: FieldSet, paths: readonly (readonly string[])[]): FieldSet {
  if (paths.some((path) => path.length === 0)) return set
  const out: Record<string, FieldSet> = {}
  for (const element in set) {
    const below = paths
      .filter(([step]) => (step === "*" ? !element.startsWith("f:") : element === `f:${step}`))
      .map((path) => path.slice(1))
    if (element === SELF || below.length === 0) continue
    const kept = matching(set[element]!, below)
    if (!isEmpty(kept) || below.some((path) => path.length === 0)) out[element] = kept
  }
  return out
}

/** Makes a node from its parts: undefined for no parts, LEAF when the only part is the node itself. */
export function nodeOf(parts: Readonly<Record<string, FieldSet>>): FieldSet | undefined {
  for (const element in parts) if (element !== SELF) return parts
  return parts[SELF] === undefined ? undefined : LEAF
}

/**
 * Returns every path in the set in readable form: `.spec.containers[name="a"].image`. The members of a parent come
 * first, then those below them. Source: structured-merge-diff fieldpath/set.go Iterate.
 */
export function pathsOf(set: FieldSet): string[] {
  const paths: string[] = []
  const walk = (node: FieldSet, path: string): void => {
    const parts = Object.entries(node).filter(([element]) => element !== SELF)
    for (const [element, child] of parts) if (isMember(child)) paths.push(`${path}${shownElement(element)}`)
    for (const [element, child] of parts) walk(child, `${path}${shownElement(element)}`)
  }
  walk(set, "")
  return paths
}

/** Returns a path element in readable form: `.spec`, `[name="a"]`. */
export function shownElement(element: string): string {
  const content = element.slice(2)
  switch (element[0]) {
    case "f":
      return `.${content}`
    case "k":
      return `[${Object.entries(JSON.parse(content) as object)
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(",")}]`
    case "v":
      return `[=${content}]`
    default:
      return `[${content}]`
  }
}

/** Whether a value from a client is a well-formed set. */
export function isFieldSet(value: unknown): value is FieldSet {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  return Object.entries(value).every(
    ([element, child]) => (element === SELF || isElement(element)) && isFieldSet(child),
  )
}

function isElement(element: string): boolean {
  if (!ELEMENT.test(element)) return false
  if (element[0] !== "k" && element[0] !== "v") return true
  try {
    JSON.parse(element.slice(2))
    return true
  } catch {
    return false
  }
}
const ELEMENT = /^(?:f:|k:\{|v:|i:-?\d+$)/s
