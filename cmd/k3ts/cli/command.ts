import type { ConfigVocabulary } from "./config-file.ts"
import type { FlagShape, FlagsOf } from "./flags.ts"
import type { ForeignFlags } from "./foreign-flags.ts"
import { resolveFlags, splitArguments } from "./parse.ts"
import { commandHelp } from "./help.ts"
import { UsageError } from "./usage-error.ts"

/** What a command gets from its environment. */
export interface Invocation {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** The words of the command: `k3ts images import`. */
  readonly path: string
  /** What a config file may say. */
  readonly config: ConfigVocabulary
  print(text: string): void
}

export interface Command {
  readonly summary: string
  /** The arguments behind the flags: `FILE…`. */
  readonly positionals: string
  readonly flags: FlagShape
  readonly details: string
  /** Values of the first argument, for completion. */
  readonly choices: readonly string[]
  /** Resolves with the exit code. @throws UsageError for a wrong command line, any other Error when the work fails */
  invoke(invocation: Invocation): Promise<number>
}

export interface CommandGroup {
  readonly summary: string
  readonly commands: Readonly<Record<string, Command>>
  /** Other names of some commands, which the help leaves out: `ls` for `list`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The command that the group's name alone runs. */
  readonly alone?: Command
}

export const isGroup = (command: Command | CommandGroup): command is CommandGroup => "commands" in command

export interface CommandDefinition<S extends FlagShape> {
  readonly summary: string
  readonly details?: string
  readonly flags: S
  /** Flags of k3s that are understood, or refused with an answer. */
  readonly foreign?: ForeignFlags
  readonly positionals?: {
    readonly name: string
    readonly min: number
    readonly max: number
    readonly choices?: readonly string[]
  }
  /** Resolves with the exit code; undefined means 0. */
  run(input: {
    readonly flags: FlagsOf<S>
    readonly args: readonly string[]
    print(text: string): void
  }): Promise<number | void>
}

export function defineCommand<const S extends FlagShape>({
  summary,
  details = "",
  flags,
  foreign,
  positionals,
  run,
}: CommandDefinition<S>): Command {
  const command: Command = {
    summary,
    details,
    flags,
    positionals: positionals?.name ?? "",
    choices: positionals?.choices ?? [],
    async invoke({ argv, env, path, config, print }) {
      const written = splitArguments(argv, flags, foreign)
      if (written.help) {
        print(commandHelp(path, command))
        return 0
      }
      const { min, max } = positionals ?? { min: 0, max: 0 }
      const args = written.positionals
      if (args.length > max)
        throw new UsageError(
          `unexpected argument ${JSON.stringify(args[max])}: ${path} takes ${max === 0 ? "none" : command.positionals}`,
        )
      if (args.length < min) throw new UsageError(`${path} needs ${command.positionals}`)
      return (await run({ flags: resolveFlags(flags, { written, env, config }), args, print })) ?? 0
    },
  }
  return command
}
