import { isAvailable, type CommandEntry } from "../command/command.ts"
import type { Found } from "../command/find.ts"
import { withoutFlags } from "../command/find.ts"
import type { Flag, Flags } from "../command/flag.ts"
import { normalize } from "../command/parse.ts"
import { GET_FORMATS } from "../commands/get/get-flags.ts"
import { PRINT_FORMATS } from "../printers/print-flags.ts"
import { contextNames, resourceNames } from "./names.ts"
import { argumentsOf } from "./arguments.ts"
import { DIRECTIVE, type Proposals, type Typing } from "./typing.ts"

const DIRECTIVE_NAMES: readonly (readonly [number, string])[] = [
  [DIRECTIVE.noSpace, "ShellCompDirectiveNoSpace"],
  [DIRECTIVE.noFiles, "ShellCompDirectiveNoFileComp"],
  [DIRECTIVE.filterExtensions, "ShellCompDirectiveFilterFileExt"],
]

/** The words of bits, for people who look for a fault. */
export function nameOfDirective(directive: number): string {
  const names = DIRECTIVE_NAMES.filter(([bit]) => (directive & bit) !== 0).map(([, name]) => name)
  return names.length === 0 ? "ShellCompDirectiveDefault" : names.join(", ")
}

const starting = (words: readonly string[], word: string): readonly string[] =>
  words.filter((each) => each.startsWith(word))
const noFiles = (words: readonly string[]): Proposals => ({ words, directive: DIRECTIVE.noFiles })

/** Proposes what may stand in place of the last word of a command line. */
export async function complete(typing: Typing): Promise<Proposals> {
  const { found, globals, word } = typing
  const flags: Flags = { ...globals, ...found.command.flags }
  const { args } = found
  const before = args.at(-1) ?? ""
  if (word.startsWith("-") && word.includes("=")) {
    const at = word.indexOf("=")
    const name = flagNamed(word.slice(0, at), flags)
    return name === undefined ? { words: [], directive: DIRECTIVE.default } : valuesOf(name, word.slice(at + 1), typing)
  }
  const pending = before.startsWith("-") && !before.includes("=") ? flagNamed(before, flags) : undefined
  if (pending !== undefined && (flags[pending]!.noOptionDefault ?? "") === "") return valuesOf(pending, word, typing)
  if (word.startsWith("-"))
    return noFiles([
      ...flagWords(globalsOnly(globals, found.command.flags), word, args),
      ...flagWords(found.command.flags, word, args),
    ])
  if (found.parents.length === 0 && withoutFlags(args, flags).length > 0)
    return { words: [], directive: DIRECTIVE.default }
  const values = withoutFlags(args, flags)
  const below = values.length === 0 ? commandWords(found, word) : []
  const own = await argumentsOf(typing, values)
  if (below.length > 0 || found.command.commands.length > 0) return noFiles(below)
  return own ?? { words: [], directive: DIRECTIVE.default }
}

/** The global flags that the command has no flag of its own for. */
const globalsOnly = (globals: Flags, own: Flags): Flags =>
  Object.fromEntries(Object.entries(globals).filter(([name]) => !Object.hasOwn(own, name)))

/** The flag that an argument names: `--output`, `-o`. */
function flagNamed(arg: string, flags: Flags): string | undefined {
  if (arg.startsWith("--")) {
    const name = normalize(arg.slice(2))
    return Object.hasOwn(flags, name) ? name : undefined
  }
  const letter = arg.slice(-1)
  return Object.entries(flags).find(([, { shorthand }]) => shorthand === letter)?.[0]
}

function flagWords(flags: Flags, word: string, args: readonly string[]): readonly string[] {
  const isRepeated = ({ type }: Flag) => type.endsWith("Slice") || type.endsWith("Array")
  const isFree = (name: string, flag: Flag) =>
    isRepeated(flag) || !args.some((arg) => arg.split("=", 1)[0] === `--${name}`)
  return Object.entries(flags)
    .filter(([name, flag]) => flag.hidden !== true && isFree(name, flag))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { shorthand, usage }]) => {
      const [line = ""] = usage.split("\n")
      const long = `--${name}`.startsWith(word) ? [`--${name}\t${line}`] : []
      const short =
        shorthand !== undefined && `-${shorthand}`.startsWith(word) && word.length < 2 ? [`-${shorthand}\t${line}`] : []
      return [...long, ...short]
    })
}

const commandWords = ({ command, parents }: Found, word: string): readonly string[] => {
  const help: readonly Pick<CommandEntry, "name" | "short">[] =
    parents.length === 0 ? [{ name: "help", short: "Help about any command" }] : []
  return [...command.commands.filter(isAvailable), ...help]
    .filter(({ name }) => name.startsWith(word))
    .map(({ name, short }) => `${name}\t${short}`)
    .sort()
}

async function valuesOf(flag: string, word: string, { found, invocation }: Typing): Promise<Proposals> {
  switch (flag) {
    case "namespace":
      return noFiles(await resourceNames(invocation.factory, "namespaces", word))
    case "context":
      return noFiles(await contextNames(invocation.factory, "contexts", word))
    case "cluster":
      return noFiles(await contextNames(invocation.factory, "clusters", word))
    case "user":
      return noFiles(await contextNames(invocation.factory, "users", word))
    case "subresource":
      return noFiles(starting(["status", "scale", "resize"], word))
    case "filename":
      return { words: ["json", "yaml", "yml"], directive: DIRECTIVE.filterExtensions }
    case "output":
      if (found.names.at(-1) === "get") return noFiles(starting(GET_FORMATS, word))
      return found.command.flags["template"] === undefined
        ? { words: [], directive: DIRECTIVE.default }
        : noFiles(starting(PRINT_FORMATS, word))
    default:
      return { words: [], directive: DIRECTIVE.default }
  }
}
