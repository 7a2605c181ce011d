export type TomlValue = string | number | boolean | readonly string[] | TomlTable
export interface TomlTable {
  readonly [key: string]: TomlValue
}

/** Writes a table as TOML 1.0. Of each table the plain values come first, since a header ends its parent. */
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

// JSON's strings, numbers, booleans and arrays of strings are TOML's too, but for DEL, which no path of ours has.
const literal = (value: Exclude<TomlValue, TomlTable>) => JSON.stringify(value)
