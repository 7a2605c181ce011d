export type TomlValue = string | number | boolean | readonly (string | readonly string[])[] | TomlTable
export interface TomlTable {
  readonly [key: string]: TomlValue
}

/**
 * Formats a table as TOML 1.0. The plain values of a table come before its subtables, since a header ends the parent
 * table.
 */
export function toml(table: TomlTable): string {
  return lines(table, []).join("\n") + "\n"
}

function lines(table: TomlTable, path: readonly string[]): string[] {
  const entries = Object.entries(table)
  const plain = entries.flatMap(([key, value]) => (isTable(value) ? [] : [`${quoted(key)} = ${literal(value)}`]))
  const header = path.length > 0 && plain.length > 0 ? ["", `[${path.map(quoted).join(".")}]`] : []
  return [
    ...header,
    ...plain,
    ...entries.flatMap(([key, value]) => (isTable(value) ? lines(value, [...path, key]) : [])),
  ]
}

const isTable = (value: TomlValue): value is TomlTable => typeof value === "object" && !Array.isArray(value)

const quoted = (key: string) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))

// Strings, numbers, booleans and arrays of strings are written in TOML as in JSON, except for the character DEL, which
// no path here contains.
const literal = (value: Exclude<TomlValue, TomlTable>) => JSON.stringify(value)
