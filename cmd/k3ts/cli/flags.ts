/**
 * Flags are declared once: the type of the value, and how it is written. The parser, the types, `--help`, the K3TS_*
 * variables, the keys of the config file and the shells' completion all come from that declaration.
 *
 * What reaches a type is always text (or a list of texts), wherever it comes from, so that a value means the same in
 * each place.
 */
import { listOf, reading, word, type FlagType } from "./flag-type.ts"

/** Flags with their values, and where those come from, for messages. */
export type ImpliedValues = ReadonlyMap<string, { readonly values: readonly string[]; readonly source: string }>

export interface Flag<T = unknown> {
  readonly type: FlagType<T>
  /** boolean: `--flag` alone means true. list: may be repeated, or separated by commas. */
  readonly kind: "value" | "boolean" | "list"
  readonly summary: string
  /** The placeholder of the value in the help: `--flag PLACEHOLDER`. */
  readonly placeholder?: string
  /** The one-letter form: `-x`. */
  readonly short?: string
  /** The allowed values, if they are few. */
  readonly choices?: readonly string[]
  /** Takes a text apart into the values of a list; at each comma unless given. */
  readonly split?: (text: string) => readonly string[]
  /** Whether the value is a path, for completion. */
  readonly path?: boolean
  /** Further variables that set it, for users of k3s. */
  readonly variables?: readonly string[]
  /** Refused on the command line, which every user of the machine can see. */
  readonly secret?: boolean
  /** Returns what the value of this flag says of other flags. It counts where they are given nowhere else. */
  readonly implies?: (value: unknown) => ImpliedValues
  /** Joins what another flag implies with what is given, where both count. */
  readonly join?: (implied: string, given: string) => string
  /** Set by flags of other programs, and not shown. */
  readonly hidden?: boolean
  /** The default in the help, when the schema has none because it depends on the machine. */
  readonly defaultText?: string
}

export type FlagShape = Readonly<Record<string, Flag>>
type ValueOf<F> = F extends Flag<infer T> ? T : never
export type FlagsOf<S extends FlagShape> = { readonly [K in keyof S]: ValueOf<S[K]> }

type Note = Omit<Flag, "type" | "kind" | "summary">

/** Declares a flag with one value, which `type` reads from text. */
export const value = <T>(type: FlagType<T>, summary: string, note: Note = {}): Flag<T> => ({
  ...note,
  type,
  kind: "value",
  summary,
})

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["true", "1", "yes"].map((text) => [text, true] as const),
  ...["false", "0", "no"].map((text) => [text, false] as const),
])
/** The text of a flag that is on or off. */
export const trueOrFalse = reading((text) => BOOLEANS.get(text.toLowerCase()), "must be true or false")

export const boolean = (summary: string, note: Note = {}, otherwise = false): Flag<boolean> => ({
  ...note,
  type: trueOrFalse.default(otherwise),
  kind: "boolean",
  summary,
})

/** Declares a flag that may be given several times; `item` reads each value. `initial` counts when it is not given. */
export const list = <T>(
  item: FlagType<T>,
  summary: string,
  note: Note = {},
  initial: readonly T[] = [],
): Flag<readonly T[]> => ({ ...note, type: listOf(item).default(initial), kind: "list", summary })

export const oneOf = <const T extends string>(
  choices: readonly T[],
  initial: NoInfer<T>,
  summary: string,
  note: Note = {},
): Flag<T> => ({ ...note, type: word(choices).default(initial), kind: "value", summary, choices })

/** Returns the flags of a command that its users are shown. */
export const shownFlags = (shape: FlagShape): readonly (readonly [name: string, flag: Flag])[] =>
  Object.entries(shape).filter(([, { hidden }]) => hidden !== true)

/** Returns `K3TS_HTTPS_LISTEN_PORT` for `https-listen-port`. */
export const variableOf = (flag: string): string => `K3TS_${flag.toUpperCase().replaceAll("-", "_")}`

/** Returns the variables that set a flag, the one that counts most first. */
export const variablesOf = (name: string, { variables = [] }: Flag): readonly string[] => [
  variableOf(name),
  ...variables,
]

/** Returns the default as text; undefined when there is none. */
export function defaultOf({ type: { initial }, kind, defaultText }: Flag): string | undefined {
  if (defaultText !== undefined) return defaultText
  if (kind === "boolean" || initial === undefined) return undefined
  return Array.isArray(initial) ? initial.join(",") || undefined : String(initial)
}
