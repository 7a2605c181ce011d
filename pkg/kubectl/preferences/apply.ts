import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { nameOf, type Command } from "../command/command.ts"
import { findCommand, withoutFlags, type Found } from "../command/find.ts"
import type { Flag, Flags } from "../command/flag.ts"
import { normalize } from "../command/parse.ts"
import { isGiven } from "./given-flag.ts"
import type { AliasOverride, CommandOption, Preference } from "./preference.ts"

/** A command line as the preferences make it. */
export interface Preferred {
  readonly found: Found
  /** The arguments, with those of the alias. */
  readonly argv: readonly string[]
  /** The command line without the preferences' help, for the log; undefined when they do nothing. */
  readonly original: string | undefined
  readonly isAlias: boolean
}

export interface Commands {
  readonly root: Command
  readonly globals: Flags
  /** Writes a warning. */
  readonly warn: (line: string) => Promise<void>
}

/** Source: kubectl pkg/kuberc/kuberc.go (Apply). @throws Error for preferences that fit no command or flag */
export async function applyPreference(
  preference: Preference,
  argv: readonly string[],
  commands: Commands,
): Promise<Preferred> {
  const { root, globals } = commands
  const found = await findCommand(root, globals, argv)
  const plain = { found, argv, original: undefined, isAlias: false }
  const preferred = isKnown(found, globals) ? plain : ((await applyAlias(preference, argv, commands)) ?? plain)
  return isKnown(preferred.found, globals) ? applyDefaults(preference, preferred, commands) : preferred
}

/** Whether the arguments name a command, or none at all. */
const isKnown = ({ parents, args }: Found, globals: Flags): boolean =>
  parents.length > 0 || withoutFlags(args, globals).length === 0

/** Undefined when the arguments name no alias. */
async function applyAlias(
  preference: Preference,
  argv: readonly string[],
  { root, globals, warn }: Commands,
): Promise<Preferred | undefined> {
  const index = argv.findIndex((arg) => !arg.startsWith("-") && !arg.startsWith("__complete"))
  const alias = preference.aliases?.find(({ name }) => name === argv[index])
  if (alias === undefined) return undefined
  const { name = "", command: line = "", prependArgs = [], appendArgs = [] } = alias
  if (isKnown(await findCommand(root, globals, [name]), globals)) {
    await warn(`Warning: Setting alias ${goQuoted(name)} to a built-in command is not supported\n`)
    return undefined
  }
  const words = line.split(/\s+/).filter((word) => word !== "")
  const target = await findCommand(root, globals, words)
  if (!isKnown(target, globals))
    throw new Error(`command ${goQuoted(line)} not found to set alias ${goQuoted(name)}: [${words.join(" ")}]`)
  const after = argv.slice(index + 1)
  // Options of the preferences go before everything else, so that they belong to the command in any case.
  const options = optionArgs(alias, target.command, argv, globals)
  const whole = [...argv.slice(0, index + 1), ...prependArgs, ...after, ...appendArgs]
  const found: Found = {
    command: { ...target.command, use: name, aliases: [] },
    names: [nameOf(root), name],
    parents: [root],
    args: [...options, ...whole.filter((_, at) => at !== index)],
  }
  const rest = whole.join(" ").replaceAll(name, "")
  const original = `${line}${options.map((option) => ` ${option}`).join("")}${rest === "" ? "" : ` ${rest}`}`
  return { found, argv: whole, original, isAlias: true }
}

function optionArgs(
  { options = [] }: AliasOverride,
  { flags }: Command,
  argv: readonly string[],
  globals: Flags,
): readonly string[] {
  const declared = { ...globals, ...flags }
  return argsOf(options, declared, argv, {
    unknown: (name) => `invalid alias flag ${name} in alias kubectl`,
    invalid: (value, name) => `could not apply value ${value} to flag ${name} in alias kubectl`,
  })
}

async function applyDefaults(
  { defaults }: Preference,
  preferred: Preferred,
  { root, globals, warn }: Commands,
): Promise<Preferred> {
  let { found, original } = preferred
  const name = found.names.at(-1)!
  const declared = { ...globals, ...found.command.flags }
  for (const { command: line = "", options } of defaults ?? []) {
    const words = line.split(/\s+/).filter((word) => word !== "")
    const isAlias = preferred.isAlias && words[0] === name
    const meant = isAlias ? found : await findCommand(root, globals, words)
    if (!isKnown(meant, globals)) {
      await warn(`Warning: command ${goQuoted(line)} not found to set kuberc override\n`)
      continue
    }
    if (meant.names.at(-1) !== name) continue
    if (isAlias) throw new Error(`alias ${name} can not be overridden`)
    const args = argsOf(options ?? [], declared, preferred.argv, {
      unknown: (flag) => `invalid flag ${flag} for command ${line}`,
      invalid: (value, flag) => `could not apply override value ${value} to flag ${flag} in command ${line}`,
    })
    found = { ...found, args: [...args, ...found.args] }
    original = [...preferred.argv, ...args].join(" ")
  }
  return { ...preferred, found, original }
}

/** Returns options as flags of the command line, without those that it sets itself. */
function argsOf(
  options: readonly CommandOption[],
  declared: Flags,
  argv: readonly string[],
  words: { unknown(name: string): string; invalid(value: string, name: string): string },
): readonly string[] {
  const shorthands = new Set(
    Object.values<Flag>(declared).flatMap(({ shorthand }) => (shorthand === undefined ? [] : [shorthand])),
  )
  return options.flatMap(({ name: written = "", default: value = "" }) => {
    const name = normalize(written)
    const flag = Object.hasOwn(declared, name) ? declared[name] : undefined
    if (flag === undefined) throw new Error(words.unknown(written))
    if (isGiven(name, flag.shorthand, shorthands, argv)) return []
    try {
      flag.parse(value, flag.default, false)
    } catch (err) {
      const shown = flag.shorthand === undefined ? `--${name}` : `-${flag.shorthand}, --${name}`
      throw new Error(
        `${words.invalid(value, written)} err: invalid argument ${goQuoted(value)} for ${goQuoted(shown)} flag: ${errorMessage(err)}`,
        { cause: err },
      )
    }
    return [`--${name}=${value}`]
  })
}
