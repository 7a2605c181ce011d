/**
 * Flags are declared once, as zod schemas with a note on how they are written. The parser, the types, `--help`, the
 * K3TS_* variables, the keys of the config file and the shells' completion all come from that declaration.
 *
 * What reaches a schema is always text (or a list of texts), wherever it comes from, so that a value means the same in
 * each place.
 */
import { z } from "zod"

/** How a flag is written on the command line. */
export interface FlagNote {
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
  /** The default in the help, when the schema has none because it depends on the machine. */
  readonly defaultText?: string
}

export type FlagShape = Readonly<Record<string, z.ZodType>>
export type FlagsOf<S extends FlagShape> = { readonly [K in keyof S]: z.output<S[K]> }

const notes = z.registry<FlagNote>()

/** Returns how `schema` is written on the command line. @throws Error for a schema that is no flag */
export function noteOf(schema: z.ZodType): FlagNote {
  const note = notes.get(schema)
  if (note === undefined) throw new Error("A flag must be made by value(), boolean() or list()")
  return note
}

type Note = Omit<FlagNote, "kind" | "summary">

/** Declares a flag with one value, which `schema` parses from text. */
export function value<T extends z.ZodType>(schema: T, summary: string, note: Note = {}): T {
  notes.add(schema, { ...note, kind: "value", summary })
  return schema
}

/** The text of a flag that is on or off. */
export const trueOrFalse: z.ZodType<boolean> = z.stringbool({
  truthy: ["true", "1", "yes"],
  falsy: ["false", "0", "no"],
  error: "must be true or false",
})

export function boolean(summary: string, note: Note = {}, otherwise = false): z.ZodDefault<z.ZodType<boolean>> {
  const schema: z.ZodDefault<z.ZodType<boolean>> = trueOrFalse.default(otherwise)
  notes.add(schema, { ...note, kind: "boolean", summary })
  return schema
}

/** Declares a flag that may be given several times; `item` parses each value. `initial` counts when it is not given. */
export function list<T extends z.ZodType>(item: T, summary: string, note: Note = {}, initial: z.output<T>[] = []) {
  const schema = z.array(item).default(initial)
  notes.add(schema, { ...note, kind: "list", summary })
  return schema
}

export function oneOf<const T extends readonly [string, ...string[]]>(
  choices: T,
  initial: NoInfer<T[number]>,
  summary: string,
  note: Note = {},
) {
  const schema = z
    .enum([...choices] as [T[number], ...T[number][]], { error: `must be ${choices.join(" or ")}` })
    .default(initial)
  notes.add(schema, { ...note, kind: "value", summary, choices })
  return schema
}

/** Returns `K3TS_HTTPS_LISTEN_PORT` for `https-listen-port`. */
export const variableOf = (flag: string): string => `K3TS_${flag.toUpperCase().replaceAll("-", "_")}`

/** Returns the variables that set a flag, the one that counts most first. */
export const variablesOf = (flag: string, schema: z.ZodType): readonly string[] => [
  variableOf(flag),
  ...(noteOf(schema).variables ?? []),
]

/** Returns the default as text; undefined when there is none. */
export function defaultOf(schema: z.ZodType): string | undefined {
  const { defaultText, kind } = noteOf(schema)
  if (defaultText !== undefined) return defaultText
  if (kind === "boolean") return undefined
  if (!(schema instanceof z.ZodDefault)) return undefined
  const initial: unknown = schema.def.defaultValue
  return Array.isArray(initial) ? initial.join(",") || undefined : String(initial)
}
