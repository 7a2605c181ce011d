import { defaultOf, noteOf, variableOf, type FlagShape } from "./flags.ts"

interface Described {
  readonly summary: string
  readonly details: string
  readonly positionals: string
  readonly flags: FlagShape
}

/** Returns the help of a command. */
export function commandHelp(path: string, { summary, details, positionals, flags }: Described): string {
  const usage = [`Usage: ${path}`, Object.keys(flags).length > 0 ? "[flags]" : "", positionals]
    .filter((part) => part !== "")
    .join(" ")
  const rows = Object.entries(flags).map(([name, schema]) => {
    const { short, kind, placeholder = "VALUE", summary: what, choices } = noteOf(schema)
    const value = kind === "boolean" ? "" : ` ${choices?.join("|") ?? placeholder}`
    const left = `${short === undefined ? "    " : `-${short}, `}--${name}${value}`
    const initial = defaultOf(schema)
    const remarks = [
      kind === "list" ? "may be repeated" : "",
      initial === undefined ? "" : `default ${initial}`,
    ].filter((remark) => remark !== "")
    return [left, remarks.length === 0 ? what : `${what} (${remarks.join("; ")})`] as const
  })
  rows.push(["-h, --help", "Show this help"])
  const parts = [summary, usage, ...(details === "" ? [] : [details]), `Flags:\n${table(rows)}`]
  const [example] = Object.keys(flags)
  if (example !== undefined)
    parts.push(
      "Each flag can also be set by a variable, as in " +
        `${variableOf(example)}${"config" in flags ? ", or by a key of the config file" : ""}.`,
    )
  return parts.join("\n\n") + "\n"
}

/** Returns the help of the program or of a group: its commands. */
export function overview(
  path: string,
  summary: string,
  commands: readonly (readonly [name: string, summary: string])[],
): string {
  return (
    `${summary}\n\nUsage: ${path} COMMAND [flags]\n\nCommands:\n${table(commands)}\n\n\`${path} COMMAND ` +
    `--help\` tells more of a command.\n`
  )
}

function table(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.min(46, Math.max(...rows.map(([left]) => left.length)))
  return rows
    .map(([left, right]) =>
      left.length > width ? `  ${left}\n  ${" ".repeat(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`,
    )
    .join("\n")
}
