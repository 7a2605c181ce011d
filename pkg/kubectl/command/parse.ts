import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { boolFlag, type Flag, type Flags } from "./flag.ts"
import { pushAll } from "../../lists/push-all.ts"

/** A command line, read by the flags of a command. */
export interface ParsedFlags {
  /** A value for each flag: that of the command line, or the default. */
  readonly values: Readonly<Record<string, unknown>>
  readonly changed: ReadonlySet<string>
  /** The flags with their texts, in the order of the command line. */
  readonly given: readonly (readonly [name: string, text: string])[]
  readonly args: readonly string[]
  readonly argsBeforeDash: number
  /** Whether help was asked for. */
  readonly help: boolean
  /** What is to be said of deprecated flags. */
  readonly notices: readonly string[]
}

/** Flags in kubectl's form: `_` is `-`. */
export const normalize = (name: string): string => name.replaceAll("_", "-")

/** Every command has it. */
const HELP = boolFlag(false, "", { shorthand: "h" })

/** Reads a command line. Source of the behaviour: github.com/spf13/pflag flag.go. @throws Error in pflag's words */
export function parseFlags(
  argv: readonly string[],
  declared: Flags,
  { interspersed = true }: { readonly interspersed?: boolean } = {},
): ParsedFlags {
  const flags: Flags = { help: HELP, ...declared }
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [name, flag.default]),
  )
  const shorthands = new Map(
    Object.entries(flags).flatMap(([name, { shorthand }]) =>
      shorthand === undefined ? [] : [[shorthand, name] as const],
    ),
  )
  const changed = new Set<string>()
  const given: (readonly [string, string])[] = []
  const args: string[] = []
  const notices: string[] = []
  let argsBeforeDash = -1
  const rest = [...argv]

  const set = (name: string, text: string): void => {
    const flag: Flag = flags[name]!
    try {
      values[name] = flag.parse(text, values[name], changed.has(name))
    } catch (err) {
      const shown =
        flag.shorthand === undefined || flag.shorthand === "" ? `--${name}` : `-${flag.shorthand}, --${name}`
      throw new Error(`invalid argument ${goQuoted(text)} for ${goQuoted(shown)} flag: ${(err as Error).message}`, {
        cause: err,
      })
    }
    changed.add(name)
    given.push([name, text])
    if (flag.deprecated !== undefined) notices.push(`Flag --${name} has been deprecated, ${flag.deprecated}\n`)
  }
  const long = (arg: string): void => {
    const body = arg.slice(2)
    if (body.startsWith("-") || body.startsWith("=")) throw new Error(`bad flag syntax: ${arg}`)
    const at = body.indexOf("=")
    const written = at === -1 ? body : body.slice(0, at)
    const name = normalize(written)
    if (!Object.hasOwn(flags, name)) throw new Error(`unknown flag: --${written}`)
    const flag = flags[name]!
    if (at !== -1) return set(name, body.slice(at + 1))
    if (flag.noOptionDefault !== undefined && flag.noOptionDefault !== "") return set(name, flag.noOptionDefault)
    const next = rest.shift()
    if (next === undefined) throw new Error(`flag needs an argument: --${written}`)
    set(name, next)
  }
  const short = (arg: string): void => {
    let letters = arg.slice(1)
    while (letters !== "") {
      const letter = letters[0]!
      const name = shorthands.get(letter)
      if (name === undefined) throw new Error(`unknown shorthand flag: ${quoteRune(letter)} in -${letters}`)
      const flag = flags[name]!
      if (letters.length > 2 && letters[1] === "=") return set(name, letters.slice(2))
      if (flag.noOptionDefault !== undefined && flag.noOptionDefault !== "") {
        set(name, flag.noOptionDefault)
        letters = letters.slice(1)
        continue
      }
      if (letters.length > 1) return set(name, letters.slice(1))
      const next = rest.shift()
      if (next === undefined) throw new Error(`flag needs an argument: ${quoteRune(letter)} in -${letters}`)
      return set(name, next)
    }
  }
  while (rest.length > 0) {
    const arg = rest.shift()!
    if (!arg.startsWith("-") || arg === "-") {
      args.push(arg)
      if (!interspersed) {
        pushAll(args, rest)
        break
      }
    } else if (arg === "--") {
      argsBeforeDash = args.length
      pushAll(args, rest)
      break
    } else if (arg.startsWith("--")) long(arg)
    else short(arg)
  }
  return { values, changed, given, args, argsBeforeDash, help: values["help"] === true, notices }
}

const quoteRune = (letter: string): string => `'${letter}'`
