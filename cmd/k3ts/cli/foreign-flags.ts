import { UsageError } from "./usage-error.ts"

/**
 * A flag that k3ts does not have, but that users of k3s know.
 * `answer` tells what there is here instead; the flag is refused with it.
 * `becomes` returns the flags of k3ts that do the same, each with its value.
 */
export type ForeignFlag =
  | { readonly answer: string }
  | {
      /** boolean: the flag alone means true. */
      readonly kind: "value" | "boolean"
      /** Whether what it becomes is added to what earlier config files say, since it sets one item of a list. */
      readonly adds?: boolean
      /** @throws UsageError for a value that nothing here stands for */
      becomes(value: string): readonly (readonly [flag: string, value: string])[]
    }

/** Foreign flags by their names, which are also keys of the config file. */
export type ForeignFlags = Readonly<Record<string, ForeignFlag>>

export const NO_FOREIGN_FLAGS: ForeignFlags = {}

/** Returns the foreign flag called `name`; undefined when there is none. @throws UsageError with its answer */
export function foreignFlag(
  name: string,
  foreign: ForeignFlags,
  written: string,
): Exclude<ForeignFlag, { readonly answer: string }> | undefined {
  const found = Object.hasOwn(foreign, name) ? foreign[name] : undefined
  if (found !== undefined && "answer" in found) throw new UsageError(`${written} is a flag of k3s: ${found.answer}`)
  return found
}
