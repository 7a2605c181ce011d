import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isAvailable, type Command, type CommandEntry } from "./command.ts"
import type { Flags } from "./flag.ts"
import { normalize } from "./parse.ts"

/** A command with what leads to it. */
export interface Found {
  readonly command: Command
  /** The names from the root to the command. */
  readonly names: readonly string[]
  /** The commands above it, the nearest first. */
  readonly parents: readonly Command[]
  /** The arguments without the command's names. */
  readonly args: readonly string[]
}

/** Returns the command that the arguments name. Source of the behaviour: github.com/spf13/cobra command.go (Find). */
export async function findCommand(root: Command, globals: Flags, argv: readonly string[]): Promise<Found> {
  let found: Found = { command: root, names: [root.use.split(" ", 1)[0]!], parents: [], args: argv }
  for (;;) {
    const { command, names, parents, args } = found
    const [name] = withoutFlags(args, { ...globals, ...command.flags })
    const entry = name === undefined ? undefined : entryNamed(command.commands, name)
    if (entry === undefined) return found
    found = {
      command: await entry.load(),
      names: [...names, entry.name],
      parents: [command, ...parents],
      args: withoutFirst(args, name!, { ...globals, ...command.flags }),
    }
  }
}

export const entryNamed = (entries: readonly CommandEntry[], name: string): CommandEntry | undefined =>
  entries.find((entry) => entry.name === name || entry.aliases?.includes(name) === true)

/** The error of a name that is no command of the root. */
export function unknownCommand(root: Command, path: string, name: string): Error {
  const close = suggestions(root.commands, name)
  const meant = close.length === 0 ? "" : `\n\nDid you mean this?\n${close.map((each) => `\t${each}\n`).join("")}`
  return new Error(`unknown command ${goQuoted(name)} for ${goQuoted(path)}${meant}`)
}

/** At most this many letters differ between a name and one that is suggested for it. */
const LARGEST_DISTANCE = 2

export function suggestions(entries: readonly CommandEntry[], typed: string): readonly string[] {
  const wanted = typed.toLowerCase()
  return entries
    .filter(isAvailable)
    .flatMap(({ name, suggestFor = [] }) => [
      ...(distance(wanted, name.toLowerCase()) <= LARGEST_DISTANCE || name.toLowerCase().startsWith(wanted)
        ? [name]
        : []),
      ...suggestFor.filter((each) => each.toLowerCase() === wanted).map(() => name),
    ])
}

/** Counts the letters that must be added, removed or replaced. */
function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++)
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    above = row
  }
  return above[b.length]!
}

/** Whether the argument is a flag whose value is the next argument. */
function takesNext(arg: string, flags: Flags): boolean {
  if (!arg.startsWith("-") || arg.includes("=") || arg === "-") return false
  const flag = arg.startsWith("--")
    ? flags[normalize(arg.slice(2))]
    : arg.length === 2
      ? Object.values(flags).find(({ shorthand }) => shorthand === arg[1])
      : undefined
  if (!arg.startsWith("--") && arg.length !== 2) return false
  return flag?.noOptionDefault === undefined || flag.noOptionDefault === ""
}

/** The arguments that are neither flags nor their values, up to `--`. */
export function withoutFlags(args: readonly string[], flags: Flags): readonly string[] {
  const words: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    if (arg === "--") break
    if (takesNext(arg, flags)) i++
    else if (arg !== "" && !arg.startsWith("-")) words.push(arg)
  }
  return words
}

/** The arguments without the first one that is `word` and neither a flag nor the value of one. */
function withoutFirst(args: readonly string[], word: string, flags: Flags): readonly string[] {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    if (arg === "--") break
    if (takesNext(arg, flags)) i++
    else if (!arg.startsWith("-") && arg === word) return [...args.slice(0, i), ...args.slice(i + 1)]
  }
  return args
}
