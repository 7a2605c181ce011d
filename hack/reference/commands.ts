import { isGroup, type Command } from "../../cmd/k3ts/cli/command.ts"
import { COMMANDS } from "../../cmd/k3ts/commands/commands.ts"

/** A command that can be called, as `path`: `k3ts images import`. */
export interface NamedCommand {
  readonly path: string
  readonly command: Command
}

/** A command of `k3ts`, or a group of commands. */
export interface Chapter {
  /** What stands behind `k3ts`: `images`. */
  readonly name: string
  readonly summary: string
  /** The commands of a group, the one that its name alone runs first; for a command, only itself. */
  readonly commands: readonly NamedCommand[]
}

/** Loads every command that `k3ts --help` names, in its order. */
export function chapters(): Promise<readonly Chapter[]> {
  return Promise.all(
    COMMANDS.map(async ({ name, summary, load }) => {
      const { default: loaded } = await load()
      const path = `k3ts ${name}`
      if (!isGroup(loaded)) return { name, summary, commands: [{ path, command: loaded }] }
      const alone = loaded.alone === undefined ? [] : [{ path, command: loaded.alone }]
      const named = Object.entries(loaded.commands).map(([one, command]) => ({ path: `${path} ${one}`, command }))
      return { name, summary, commands: [...alone, ...named] }
    }),
  )
}
