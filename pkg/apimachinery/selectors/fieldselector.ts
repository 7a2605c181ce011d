import { badRequest } from "../errors.ts"

/** One condition of a field selector: a path such as `status.phase`, and the text that it must or must not have. */
export interface FieldRequirement {
  readonly path: string
  readonly operator: "=" | "!="
  readonly value: string
}

/**
 * Parses `?fieldSelector=`: terms joined by commas, each with `=`, `==` or `!=`; a backslash escapes `\`, `,` and `=`
 * in values. Throws a 400 ApiError with upstream's message. Source: apimachinery pkg/fields/selector.go.
 */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  const found: FieldRequirement[] = []
  for (const term of text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? []) {
    const split = /^(.*?)(!=|==|=)(.*)$/s.exec(term)
    if (split === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
    const value = unescapeValue(split[3]!)
    // An operator without path and value is no condition.
    if (split[1] !== "" || value !== "")
      found.push({ path: split[1]!, operator: split[2] === "!=" ? "!=" : "=", value })
  }
  return found
}

function unescapeValue(text: string): string {
  if (!/[\\=]/.test(text)) return text
  return text.replace(/\\(.?)|=/gs, (all, escaped: string | undefined) => {
    if (escaped === undefined)
      throw badRequest(`invalid field selector: unescaped character in value: ${all.charCodeAt(0)}`)
    if (escaped !== "\\" && escaped !== "," && escaped !== "=")
      throw badRequest(`invalid field selector: invalid escape sequence: ${all}`)
    return escaped
  })
}

const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, "\\$&")

/** Formats conditions as a client sends them. */
export const formatFieldSelector = (requirements: readonly FieldRequirement[]): string =>
  requirements.map(({ path, operator, value }) => `${path}${operator}${escapeFieldValue(value)}`).join(",")

/**
 * Returns what decides whether an object meets all conditions; `valueOf` returns its text at a path, empty when it has
 * none. Thousands of conditions take no longer than the paths that they are about.
 */
export function fieldConditions(
  requirements: readonly FieldRequirement[],
): (valueOf: (path: string) => string) => boolean {
  const byPath = new Map<string, { readonly wanted: Set<string>; readonly refused: Set<string> }>()
  for (const { path, operator, value } of requirements) {
    let condition = byPath.get(path)
    if (condition === undefined) byPath.set(path, (condition = { wanted: new Set(), refused: new Set() }))
    ;(operator === "=" ? condition.wanted : condition.refused).add(value)
  }
  const conditions = [...byPath]
  return (valueOf) =>
    conditions.every(([path, { wanted, refused }]) => {
      const value = valueOf(path)
      return (wanted.size === 0 || (wanted.size === 1 && wanted.has(value))) && !refused.has(value)
    })
}
