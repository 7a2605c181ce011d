import type { Resource } from "../../resource.ts"
import { matching, without, type FieldSet } from "./fieldset.ts"

/**
 * Removes the fields that a write to this endpoint leaves unchanged: status for the main resource, everything but
 * status for `/status`.
 */
export function withoutReset(
  { subresources, resets: kept }: Pick<Resource, "subresources" | "resets">,
  set: FieldSet,
  subresource: string | undefined,
): FieldSet {
  if (subresource === undefined || subresource === "") {
    const left = subresources?.status === undefined || set["f:status"] === undefined ? set : without(set, STATUS)
    return kept === undefined ? left : without(left, elementsOf(kept))
  }
  const { status, other } = subresources ?? {}
  const strategy = subresource === "status" ? status : other?.[subresource]?.strategy
  const { resets = subresource === "status" ? SPEC : NONE, changes } = strategy === true ? {} : (strategy ?? {})
  if (changes !== undefined) return matching(set, changes)
  return resets.length === 0 ? set : without(set, elementsOf(resets))
}
const STATUS = [["f:status"]]
const SPEC = [["spec"]]
const NONE: readonly (readonly string[])[] = []

type Paths = readonly (readonly string[])[]

/** The elements of the paths that kinds declare, since every write asks for them. */
const known = new WeakMap<Paths, Paths>()

function elementsOf(paths: Paths): Paths {
  let made = known.get(paths)
  if (made === undefined) known.set(paths, (made = paths.map((path) => path.map((step) => `f:${step}`))))
  return made
}
