import { shownFlags } from "./flags.ts"
import { isGroup, type Command, type CommandGroup } from "./command.ts"

/** What may follow on the command line. */
export interface Completion {
  readonly words: readonly string[]
  /** Whether file names may follow too. */
  readonly files: boolean
}

const NOTHING: Completion = { words: [], files: false }

/**
 * @param words the words behind `k3ts`; the last one is being typed and may be empty; @param load returns a command by
 * its name
 */
export async function complete(
  words: readonly string[],
  names: readonly string[],
  load: (name: string) => Promise<Command | CommandGroup | undefined>,
): Promise<Completion> {
  const [first = "", ...rest] = words
  if (rest.length === 0) return matching([...names, "help"], first)
  const command = await load(first)
  if (command === undefined) return first === "help" && rest.length === 1 ? matching(names, rest[0]!) : NOTHING
  if (!isGroup(command)) return ofCommand(command, rest)
  const [second = "", ...more] = rest
  if (more.length > 0 && Object.hasOwn(command.commands, second)) return ofCommand(command.commands[second]!, more)
  if (command.alone !== undefined && (second.startsWith("-") || more.length > 0)) return ofCommand(command.alone, rest)
  return more.length > 0 ? NOTHING : matching(Object.keys(command.commands), second)
}

function ofCommand({ flags, positionals, choices }: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? ""
  const before = words.at(-2) ?? ""
  const equals = current.startsWith("--") ? current.indexOf("=") : -1
  const flag =
    equals > 0 ? current.slice(2, equals) : before.startsWith("--") && !before.includes("=") ? before.slice(2) : ""
  const note = Object.hasOwn(flags, flag) ? flags[flag] : undefined
  if (note !== undefined && (equals > 0 || note.kind !== "boolean")) {
    const values = note.kind === "boolean" ? ["true", "false"] : (note.choices ?? [])
    const typed = equals > 0 ? current.slice(equals + 1) : current
    return {
      words: values
        .filter((value) => value.startsWith(typed))
        .map((value) => (equals > 0 ? `${current.slice(0, equals + 1)}${value}` : value)),
      files: note.path === true && equals < 0,
    }
  }
  if (current.startsWith("-")) return matching([...shownFlags(flags).map(([name]) => `--${name}`), "--help"], current)
  return { ...matching(choices, current), files: positionals.includes("FILE") }
}

const matching = (words: readonly string[], typed: string): Completion => ({
  words: words.filter((word) => word.startsWith(typed)),
  files: false,
})
