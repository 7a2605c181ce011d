/** Names of properties as expressions can write them. Source: apiserver pkg/cel/escaping.go. */

import type { CelField, CelType } from "./type.ts"

const RESERVED: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return " +
    "var void while"
  ).split(" "),
)

const SIGNS: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
}

/**
 * Returns the name of a property in expressions, such as `__namespace__` or `a__dash__b`; undefined when it cannot be
 * named.
 */
export function escapeProperty(property: string): string | undefined {
  if (RESERVED.has(property)) return `__${property}__`
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(property)) return undefined
  return property.replaceAll(/__|[-./]/g, (sign) => SIGNS[sign]!)
}

/**
 * Returns a field of an object by its name in expressions. A property that is called as a reserved word is known by
 * this word too: `self.namespace` and `self.__namespace__` are the same. Source: apiserver pkg/cel/types.go
 * FindStructFieldType.
 */
export const fieldOf = ({ fields }: CelType, name: string): CelField | undefined =>
  fields?.get(name) ?? (RESERVED.has(name) ? fields?.get(`__${name}__`) : undefined)

const NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SIGNS).map(([sign, name]) => [name, sign]),
)

/**
 * Returns the property that a name in an expression stands for, such as `a-b` for `a__dash__b`; undefined when the name
 * stands for itself. Source: apiserver pkg/cel/escaping.go Unescape.
 */
export function unescapeProperty(name: string): string | undefined {
  const word = /^__(.*)__$/.exec(name)?.[1]
  if (word !== undefined && RESERVED.has(word)) return word
  const plain = name.replaceAll(/__(?:underscores|dot|dash|slash)__/g, (escaped) => NAMES[escaped]!)
  return plain === name ? undefined : plain
}
