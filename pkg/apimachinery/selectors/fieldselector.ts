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

/** Whether all conditions are true; `valueOf` returns the text at a path, empty when the object has none. */
export const matchesFields = (requirements: readonly FieldRequirement[], valueOf: (path: string) => string): boolean =>
  requirements.every(({ path, operator, value }) => (valueOf(path) === value) === (operator === "="))
