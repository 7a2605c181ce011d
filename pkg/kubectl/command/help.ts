import { largest } from "../../lists/extremes.ts"
import { isAvailable, nameOf, type Command, type CommandEntry } from "./command.ts"
import type { Flag, Flags } from "./flag.ts"
import { wrapWords } from "./wrap.ts"

/** A heading in the list of commands, with the names below it. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly string[]
}

export interface HelpContext {
  /** The names from the root to the command. */
  readonly names: readonly string[]
  readonly globals: Flags
  /** The groups of the root's commands; those that are in none are "Other Commands". */
  readonly groups: readonly CommandGroup[]
  /** The width of the terminal that is written to; 0 does not wrap. */
  readonly width: number
}

/** Returns a command's help. Source of the layout: kubectl pkg/util/templates. */
export function helpOf(command: Command, context: HelpContext): string {
  const { names, width } = context
  const isRoot = names.length === 1
  const path = names.join(" ")
  const flags = Object.fromEntries(Object.entries(command.flags).filter(([, { hidden }]) => hidden !== true))
  const sections = [
    aliasesText(command),
    command.example === undefined ? "" : `Examples:\n${examplesText(command.example)}\n\n`,
    command.commands.some(isAvailable) ? `${commandsText(command, context, isRoot)}\n\n` : "",
    Object.keys(flags).length === 0 ? "" : `Options:\n${flagsText(flags, width).trimEnd()}\n\n`,
    command.run === undefined ? "" : `Usage:\n  ${usageLine(command, names)}\n\n`,
    command.commands.length === 0 ? "" : `Use "${path} <command> --help" for more information about a given command.\n`,
    isRoot || command.run !== undefined
      ? `Use "${names[0]} options" for a list of global command-line options (applies to all commands).\n`
      : "",
  ]
  return wrapWords(`${(command.long ?? command.short).trim()}\n\n${sections.join("")}`, width)
}

function aliasesText(command: Command): string {
  const aliases = command.aliases ?? []
  return aliases.length === 0 ? "" : `Aliases:\n${[nameOf(command), ...aliases].join(", ")}\n\n`
}

/** Examples are indented by two; an empty line too. */
const examplesText = (example: string): string =>
  example
    .trim()
    .split("\n")
    .map((line) => `  ${line.trim()}`)
    .join("\n")

/** Names are padded to the longest, of at least this many letters. */
const SHORTEST_COLUMN = 11

function commandsText(command: Command, { groups }: HelpContext, isRoot: boolean): string {
  const pad = largest(command.commands.map(({ name }) => name.length).concat(SHORTEST_COLUMN))
  const lines = (title: string, entries: readonly CommandEntry[]) =>
    [title, ...entries.filter(isAvailable).map(({ name, short }) => `  ${name.padEnd(pad)}   ${short}`)].join("\n")
  // Commands are sorted by name, but under a heading they are in its order.
  const listed = command.commands
    .filter(({ name }) => name !== "options")
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (!isRoot) return lines("Available Commands:", listed)
  const grouped = new Set(groups.flatMap(({ commands }) => commands))
  const sections = groups.map(({ title, commands }) =>
    lines(
      title,
      commands.flatMap((name) => listed.find((entry) => entry.name === name) ?? []),
    ),
  )
  return [
    ...sections,
    lines(
      "Other Commands:",
      listed.filter(({ name }) => !grouped.has(name)),
    ),
  ].join("\n\n")
}

/** Returns the list of flags, sorted by name. */
export function flagsText(flags: Flags, width: number): string {
  return Object.entries(flags)
    .filter(([, { hidden }]) => hidden !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, flag]) => flagText(name, flag, width))
    .join("")
}

/** The texts of a flag are wrapped this much before the width of the terminal. */
const FLAG_INDENT = 10

function flagText(name: string, flag: Flag, width: number): string {
  const shorthand = flag.shorthand === undefined ? "    " : `    -${flag.shorthand}, `
  const shown = flag.type === "string" ? `'${flag.defaultText}'` : flag.defaultText
  const deprecated = flag.deprecated === undefined ? "" : ` (DEPRECATED: ${flag.deprecated})`
  const usage = `${flag.usage}${deprecated}`.replaceAll("\n", " ")
  const wrapped = width === 0 ? usage : wrapWords(usage, width - FLAG_INDENT)
  return `${shorthand}--${name}=${shown}:\n${wrapped}`.replaceAll("\n", "\n\t") + "\n\n"
}

/** Source: cobra command.go (UseLine) and kubectl's templater. */
export function usageLine(command: Command, names: readonly string[]): string {
  const use = [...names.slice(0, -1), command.use].join(" ")
  const line = command.noFlagsInUse === true || use.includes("[flags]") ? use : `${use} [flags]`
  return line.includes("[options]") ? line : `${line} [options]`
}
