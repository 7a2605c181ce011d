import { defaultOf, shownFlags, variableOf, type Flag, type FlagShape } from "./flags.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

interface Described {
  readonly summary: string
  readonly details: string
  readonly positionals: string
  readonly flags: FlagShape
}

/** A flag as help, manual pages and the reference show it. */
export interface ShownFlag {
  readonly short: string | undefined
  /** What its value is: a placeholder, or the choices with bars between them. Empty for a flag without one. */
  readonly value: string
  /** What it does, and in parentheses whether it may be repeated and its default. */
  readonly what: string
}

export function shownFlag(flag: Flag): ShownFlag {
  const { short, kind, placeholder = "VALUE", summary, choices } = flag
  const initial = defaultOf(flag)
  const remarks = [kind === "list" ? "may be repeated" : "", initial === undefined ? "" : `default ${initial}`].filter(
    (remark) => remark !== "",
  )
  return {
    short,
    value: kind === "boolean" ? "" : (choices?.join("|") ?? placeholder),
    what: remarks.length === 0 ? summary : `${summary} (${remarks.join("; ")})`,
  }
}

/** Returns how a command is written: `k3ts images import [flags] FILE…`. */
export const usageOf = (path: string, { positionals, flags }: Pick<Described, "positionals" | "flags">): string =>
  [path, Object.keys(flags).length > 0 ? "[flags]" : "", positionals].filter((part) => part !== "").join(" ")

/** Returns the help of a command. */
export function commandHelp(path: string, { summary, details, positionals, flags }: Described): string {
  const rows = shownFlags(flags).map(([name, flag]) => {
    const { short, value, what } = shownFlag(flag)
    const left = `${short === undefined ? "    " : `-${short}, `}--${name}${value === "" ? "" : ` ${value}`}`
    return [left, what] as const
  })
  rows.push(["-h, --help", "Show this help"])
  const parts = [
    summary,
    `Usage: ${usageOf(path, { positionals, flags })}`,
    ...(details === "" ? [] : [details]),
    `Flags:\n${table(rows)}`,
  ]
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
    `--help\` shows more about a command.\n`
  )
}

function table(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.min(46, largest(rows.map(([left]) => left.length)))
  return rows
    .map(([left, right]) =>
      left.length > width ? `  ${left}\n  ${" ".repeat(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`,
    )
    .join("\n")
}
