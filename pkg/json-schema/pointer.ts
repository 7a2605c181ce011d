/** Returns the JSON pointer of some steps. Source: RFC 6901. */
export const pointerOf = (steps: readonly string[]): string =>
  steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

/** Returns the steps of a JSON pointer; undefined where `~` escapes nothing. */
export function stepsOf(pointer: string): readonly string[] | undefined {
  if (/~(?![01])/.test(pointer)) return undefined
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
}

/** Characters that JavaScript escapes and Go does not in a part of a path, and those of which it is the other way. */
const UNESCAPED = /%(?:24|26|2B|3D|3A|40)/g
const ESCAPED = /[!'()*]/g

/** Returns a pointer as the fragment of an address has it. */
export const asFragment = (pointer: string): string =>
  pointer
    .split("/")
    .map((step) =>
      encodeURIComponent(step)
        .replace(UNESCAPED, decodeURIComponent)
        .replace(ESCAPED, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join("/")

/** Returns what a pointer leads to, as `[value]`; undefined where it leads nowhere. */
export function follow(document: unknown, steps: readonly string[]): readonly [unknown] | undefined {
  let at = document
  for (const step of steps) {
    if (typeof at !== "object" || at === null) return undefined
    if (Array.isArray(at) ? !/^\d+$/.test(step) || Number(step) >= at.length : !Object.hasOwn(at, step))
      return undefined
    at = (at as Readonly<Record<string, unknown>>)[step]
  }
  return [at]
}
