import type { Found } from "./command/find.ts"
import { entryNamed } from "./command/find.ts"
import { ExitError } from "./errors/errors.ts"
import type { Environment } from "./environment/environment.ts"

/** Only these commands have plugins as commands below them. */
const WITH_PLUGINS = ["create"]

/** A program to run in place of a command. */
export interface Plugin {
  readonly path: string
  readonly args: readonly string[]
}

/**
 * Returns the plugin that a command line names: of `kubectl foo bar`, the program kubectl-foo-bar, or else kubectl-foo.
 * Source: kubectl pkg/cmd/plugin.go.
 * @throws Error for flags before the name
 */
export async function pluginFor(
  found: Found,
  argv: readonly string[],
  environment: Environment,
): Promise<Plugin | undefined> {
  const [next] = found.args
  if (found.parents.length === 0) return search(argv, 1, environment)
  const name = found.names.at(-1)!
  if (!WITH_PLUGINS.includes(name) || next === undefined || next.startsWith("-")) return undefined
  if (entryNamed(found.command.commands, next)?.name === next) return undefined
  return search(argv, argv.length - found.args.length + 1, environment)
}

async function search(argv: readonly string[], fewest: number, { programs }: Environment): Promise<Plugin | undefined> {
  const end = argv.findIndex((arg) => arg.startsWith("-"))
  const words = (end === -1 ? argv : argv.slice(0, end)).map((arg) => arg.replaceAll("-", "_"))
  if (words.length === 0) throw new ExitError(`Error: flags cannot be placed before plugin name: ${argv[0] ?? ""}`, 1)
  for (let length = words.length; length >= fewest; length--) {
    const path = await programs.find(`kubectl-${words.slice(0, length).join("-")}`)
    if (path !== undefined) return { path, args: argv.slice(length) }
  }
  return undefined
}
