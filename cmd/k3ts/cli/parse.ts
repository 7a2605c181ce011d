import { readConfig, type ConfigEntries, type ConfigVocabulary } from "./config-file.ts"
import { variablesOf, type Flag, type FlagShape, type FlagsOf, type ImpliedValues } from "./flags.ts"
import { foreignFlag, NO_FOREIGN_FLAGS, type ForeignFlags } from "./foreign-flags.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import { UsageError } from "./usage-error.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

/** A command line, split but not parsed. */
export interface Written {
  /** Flag → its values, in order. */
  readonly flags: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
  readonly help: boolean
}

/**
 * Splits a command line into flags and the rest. Foreign flags are replaced by what they become here.
 * @throws UsageError for a flag that is unknown or lacks its value
 */
export function splitArguments(
  argv: readonly string[],
  shape: FlagShape,
  foreign: ForeignFlags = NO_FOREIGN_FLAGS,
): Written {
  const flags = new Map<string, string[]>()
  const add = (name: string, value: string) => flags.set(name, [...(flags.get(name) ?? []), value])
  const positionals: string[] = []
  const shorts = new Map(
    Object.entries(shape).flatMap(([name, { short }]) => (short === undefined ? [] : [[short, name] as const])),
  )
  let help = false
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i]!
    if (arg === "--") {
      pushAll(positionals, argv.slice(i + 1))
      break
    }
    if (arg === "--help" || arg === "-h") {
      help = true
      continue
    }
    if (!arg.startsWith("-") || arg === "-") {
      positionals.push(arg)
      continue
    }
    const equals = arg.indexOf("=")
    const written = equals < 0 ? arg : arg.slice(0, equals)
    const name = written.startsWith("--") ? written.slice(2) : (shorts.get(written.slice(1)) ?? "")
    const own = Object.hasOwn(shape, name) ? shape[name] : undefined
    const stranger = own === undefined ? foreignFlag(written.replace(/^-+/, ""), foreign, written) : undefined
    const flag = own ?? stranger
    if (flag === undefined)
      throw new UsageError(`unknown flag ${written}${didYouMean(written.replace(/^-+/, ""), Object.keys(shape), "--")}`)
    if (own?.secret === true)
      throw new UsageError(
        `${written} must not be on the command line, which every user of this machine can see: set ` +
          `${variablesOf(name, own)[0]}, or ${name} in the config file`,
      )
    let given = equals < 0 ? undefined : arg.slice(equals + 1)
    if (given === undefined) {
      if (flag.kind === "boolean") given = "true"
      else if (i + 1 < argv.length && !(argv[i + 1]!.startsWith("--") && argv[i + 1]!.length > 2)) given = argv[++i]!
      else throw new UsageError(`${written} needs a value: ${written} ${placeholderOf(flag)}`)
    }
    if (stranger === undefined) add(name, given)
    else for (const [flag, value] of stranger.becomes(given)) add(flag, value)
  }
  return { flags, positionals, help }
}

const placeholderOf = (flag: object): string =>
  "placeholder" in flag && typeof flag.placeholder === "string" ? flag.placeholder : "VALUE"

export interface Sources {
  readonly written: Written
  readonly env: Readonly<Record<string, string | undefined>>
  /** All commands share the config file, so keys of other commands are ignored. */
  readonly config: ConfigVocabulary
}

const CONFIG_FLAG = "config"

/**
 * Returns the value of each flag. The command line overrides K3TS_* variables, these the config file, and that the
 * default. What a flag implies of others comes before the default. @throws UsageError
 */
export function resolveFlags<S extends FlagShape>(shape: S, { written, env, config }: Sources): FlagsOf<S> {
  const resolved: Record<string, unknown> = {}
  const implied = new Map<string, Implied>()
  const resolve = (name: string, file: ConfigEntries | undefined) => {
    const flag = shape[name]!
    const { type, kind, split = (text: string) => text.split(",") } = flag
    const [given, source] = withImplied(flag, find(name, flag, written, env, file), implied.get(name))
    const raw =
      given === undefined
        ? undefined
        : kind === "list"
          ? given
              .flatMap(split)
              .map((text) => text.trim())
              .filter((text) => text !== "")
          : given.at(-1)
    if (given !== undefined && kind !== "list" && new Set(given).size > 1)
      throw new UsageError(`${source} is given ${given.length} times, but takes one value`)
    // Only an optional flag, or one with a default, can be read where nothing is written.
    const read = type.read(raw)
    if ("fault" in read)
      throw new UsageError(
        raw === undefined
          ? missing(name, flag, CONFIG_FLAG in shape)
          : wrongValue(read.item ?? raw, source, read.fault),
      )
    resolved[name] = read.value
  }
  if (CONFIG_FLAG in shape) resolve(CONFIG_FLAG, undefined)
  const path = resolved[CONFIG_FLAG]
  const chosen = written.flags.has(CONFIG_FLAG) || variableIn(env, CONFIG_FLAG, shape[CONFIG_FLAG]) !== undefined
  const file = typeof path === "string" ? readConfig(path, config, { optional: !chosen }) : undefined
  const others = Object.entries(shape).filter(([name]) => name !== CONFIG_FLAG)
  for (const [name, { implies }] of others) {
    if (implies === undefined) continue
    resolve(name, file)
    for (const [flag, said] of implies(resolved[name])) implied.set(flag, said)
  }
  for (const [name, { implies }] of others) if (implies === undefined) resolve(name, file)
  return resolved as FlagsOf<S>
}

type Implied = ImpliedValues extends ReadonlyMap<string, infer V> ? V : never
type Found = readonly [given: readonly string[] | undefined, source: string]

function withImplied({ join }: Flag, [given, source]: Found, implied: Implied | undefined): Found {
  if (implied === undefined) return [given, source]
  if (given === undefined) return [implied.values, implied.source]
  const [first] = implied.values
  return join === undefined || first === undefined ? [given, source] : [given.map((text) => join(first, text)), source]
}

function find(name: string, flag: Flag, written: Written, env: Sources["env"], file: ConfigEntries | undefined): Found {
  const argument = written.flags.get(name)
  if (argument !== undefined) return [argument, `--${name}`]
  const variable = variableIn(env, name, flag)
  if (variable !== undefined) return [[env[variable]!], variable]
  const entry = file?.entries.get(name)
  return [entry?.values, `${name} in ${entry?.path}`]
}

/** Returns the first of the flag's variables that is set; undefined when none is. */
const variableIn = (env: Sources["env"], name: string, flag: Flag | undefined): string | undefined =>
  flag === undefined ? undefined : variablesOf(name, flag).find((variable) => env[variable] !== undefined)

function missing(name: string, flag: Flag, hasConfig: boolean): string {
  const { placeholder = "VALUE" } = flag
  const others = [...variablesOf(name, flag), ...(hasConfig ? ["the config file"] : [])]
  return `--${name} is required: give --${name} ${placeholder}, or set it by ${others.join(", ")}`
}

const wrongValue = (wrong: string | readonly string[], source: string, fault: string): string =>
  `invalid value ${JSON.stringify(withoutPasswords(String(wrong)))} for ${source}: ${fault}`

/** Hides the passwords of URLs: what is wrong with a flag ends in logs. */
const withoutPasswords = (text: string): string => text.replace(/(:\/\/[^:@/\s,]*:)[^\s,]*@/g, "$1***@")
