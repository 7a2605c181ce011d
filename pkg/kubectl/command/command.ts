import type { Environment } from "../environment/environment.ts"
import type { Factory } from "../factory/factory.ts"
import type { Output } from "../printers/output.ts"
import type { Flags, FlagValues } from "./flag.ts"
import type { GlobalValues } from "./global-flags.ts"

/** What the run of a command gets. */
export interface Invocation<F = Flags> {
  readonly flags: FlagValues<F>
  /** Whether the command line sets the flag. */
  changed(flag: keyof F & string): boolean
  /** The flags of the command line with their texts, in its order. */
  readonly given: readonly (readonly [name: string, text: string])[]
  /** The arguments that are no flags. */
  readonly args: readonly string[]
  /** The number of arguments before `--`; -1 when there is no `--`. */
  readonly argsBeforeDash: number
  /** The flags that every command has. */
  readonly globals: GlobalValues
  readonly factory: Factory
  readonly environment: Environment
  readonly out: Output
  readonly errOut: Output
  /** The words of the command: `kubectl create deployment`. */
  readonly path: string
  /** The commands beside this one, and those above it, the nearest first. */
  readonly parents: readonly Command[]
  /** This command's help, as `--help` prints it. */
  help(): string
  /** The error that says what is wrong and where help is. Source: kubectl pkg/cmd/util/helpers.go (UsageErrorf). */
  usageError(message: string): Error
}

/** A command as cobra has them, as a value. */
export interface Command {
  /** The name, and what follows it in the line of usage: `get TYPE NAME`. */
  readonly use: string
  /** The line in the list of commands. */
  readonly short: string
  readonly long?: string
  /** Lines in help's layout: a comment, then the command. */
  readonly example?: string
  readonly aliases?: readonly string[]
  /** Wrong names for which this command is suggested. */
  readonly suggestFor?: readonly string[]
  readonly hidden?: boolean
  readonly deprecated?: string
  /** Leaves `[flags]` out of the line of usage. */
  readonly noFlagsInUse?: boolean
  /** The exit code of wrong flags, where it is another than that of other errors; help is then pointed to as for others. */
  readonly flagErrorCode?: number
  /** Passes all arguments on as they are. */
  readonly noFlagParsing?: boolean
  /** The arguments after the first one that is no flag are passed on as they are. */
  readonly notInterspersed?: boolean
  readonly flags: Flags
  /** Commands below this one. */
  readonly commands: readonly CommandEntry[]
  /** Undefined: a command that only has commands below it; it prints its help. */
  readonly run?: (invocation: Invocation) => Promise<void>
  /** Proposals for the argument that is being written, in a shell. */
  readonly complete?: (invocation: Invocation, word: string) => Promise<readonly string[]>
}

/** What is known of a command before it is loaded. */
export interface CommandEntry {
  readonly name: string
  readonly short: string
  readonly aliases?: readonly string[]
  readonly suggestFor?: readonly string[]
  readonly hidden?: boolean
  readonly deprecated?: string
  load(): Promise<Command>
}

export interface CommandDefinition<F extends Flags> extends Omit<Command, "flags" | "run" | "commands" | "complete"> {
  readonly flags?: F
  readonly commands?: readonly (Command | CommandEntry)[]
  readonly run?: (invocation: Invocation<F>) => Promise<void>
  readonly complete?: (invocation: Invocation<F>, word: string) => Promise<readonly string[]>
}

/** Makes a command whose run gets the values of its flags with their types. */
export function command<const F extends Flags = Record<never, never>>(definition: CommandDefinition<F>): Command {
  const { flags, commands = [], run, complete, ...rest } = definition
  return {
    ...rest,
    flags: flags ?? {},
    commands: commands.map((each) => ("load" in each ? each : entryOf(each))),
    // The values that are passed are made of these flags, so they have the types of F.
    ...(run === undefined ? {} : { run: run as unknown as (invocation: Invocation) => Promise<void> }),
    ...(complete === undefined
      ? {}
      : { complete: complete as unknown as (invocation: Invocation, word: string) => Promise<readonly string[]> }),
  }
}

/** The entry of a command that is there already. */
export const entryOf = (loaded: Command): CommandEntry => ({
  name: nameOf(loaded),
  short: loaded.short,
  ...(loaded.aliases === undefined ? {} : { aliases: loaded.aliases }),
  ...(loaded.suggestFor === undefined ? {} : { suggestFor: loaded.suggestFor }),
  ...(loaded.hidden === undefined ? {} : { hidden: loaded.hidden }),
  ...(loaded.deprecated === undefined ? {} : { deprecated: loaded.deprecated }),
  load: () => Promise.resolve(loaded),
})

export const nameOf = ({ use }: Pick<Command, "use">): string => use.split(" ", 1)[0]!

/** Whether help and suggestions name the command. */
export const isAvailable = ({ hidden, deprecated }: Pick<CommandEntry, "hidden" | "deprecated">): boolean =>
  hidden !== true && deprecated === undefined
