import { realClock } from "../../pkg/clock/real.ts"
import { compileAsUsual } from "../../pkg/runtime/jit.ts"
import { isGroup, type Command, type CommandGroup, type Invocation } from "./cli/command.ts"
import { complete } from "./cli/complete.ts"
import { overview } from "./cli/help.ts"
import { didYouMean } from "../../pkg/names/suggest.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { UsageError } from "./cli/usage-error.ts"
import { COMMANDS, WHERE_OTHERS_ARE } from "./commands/commands.ts"
import { PLUGIN_PROCESS } from "./plugin-process.ts"
import { COMPLETE } from "./commands/completion.ts"

/**
 * Exit codes: 0 success; 1 the work failed; 2 the command line, a variable or the config file is wrong, and nothing was
 * done.
 */
const FAILED = 1
const WRONG_USAGE = 2

/** After this many milliseconds a command no longer starts, but works, and its code is compiled as usual. */
const LONGEST_START_MS = 2000

const HELP = ["--help", "-h", "help"]
/** Matches a path whose file is kubectl, or kubectl with a version. */
const IS_KUBECTL = /(?:^|\/)kubectl(?:[-.][^/]*)?$/
const VERSION = ["--version", "-v"]

async function main(argv: readonly string[]): Promise<number> {
  const [first = "help", ...rest] = argv
  if (first === "kubectl") return (await import("./run-kubectl.ts")).kubectl(rest)
  if (VERSION.includes(first)) return main(["version", ...rest])
  if (HELP.includes(first)) {
    if (first === "help" && rest[0] !== undefined && !rest[0].startsWith("-")) return main([...rest, "--help"])
    print(
      overview(
        "k3ts",
        "A whole Kubernetes cluster in one executable",
        COMMANDS.map(({ name, summary }) => [name, summary]),
      ),
    )
    return argv.length === 0 ? WRONG_USAGE : 0
  }
  if (first === PLUGIN_PROCESS) return (await import("./scheduler-plugin.ts")).runPlugin(rest)
  if (first === COMPLETE) {
    const isKubectl = rest[0] === "kubectl" && rest.length > 1
    const { words, files } = isKubectl
      ? await (await import("./run-kubectl.ts")).completeKubectl(rest.slice(1))
      : await complete(
          rest,
          COMMANDS.map(({ name }) => name),
          async (name) => (await COMMANDS.find((entry) => entry.name === name)?.load())?.default,
        )
    print([...words, ...(files ? [":files"] : [])].map((word) => `${word}\n`).join(""))
    return 0
  }
  const entry = COMMANDS.find(({ name }) => name === first)
  if (entry === undefined) {
    const elsewhere = (await import("./k3s/commands.ts")).COMMANDS_OF_K3S.get(first)
    if (elsewhere !== undefined) throw new UsageError(`${first} is a command of k3s: ${elsewhere}`)
    throw new UsageError(
      `unknown ${first.startsWith("-") ? "flag" : "command"} ${first}${didYouMean(
        first,
        COMMANDS.map(({ name }) => name),
        "k3ts ",
      )}${WHERE_OTHERS_ARE}`,
    )
  }
  const { default: command } = await entry.load()
  return call(command, `k3ts ${first}`, rest)
}

async function call(command: Command | CommandGroup, path: string, argv: readonly string[]): Promise<number> {
  const [name = ""] = argv
  if (!isGroup(command)) return command.invoke({ ...(await invocation()), argv, path })
  const full = command.aliases?.[name] ?? name
  if (Object.hasOwn(command.commands, full))
    return command.commands[full]!.invoke({ ...(await invocation()), argv: argv.slice(1), path: `${path} ${full}` })
  const names = Object.entries(command.commands).map(([name, { summary }]) => [name, summary] as const)
  if (command.alone !== undefined && (name === "" || (name.startsWith("-") && !HELP.includes(name))))
    return command.alone.invoke({ ...(await invocation()), argv, path })
  if (HELP.includes(name)) {
    print(
      overview(path, command.summary, names) +
        (command.alone === undefined ? "" : `\`${path}\` alone: ${command.alone.summary}\n`),
    )
    return 0
  }
  if (name === "") throw new UsageError(`${path} needs a command: ${names.map(([one]) => one).join(", ")}`)
  throw new UsageError(`unknown command ${path} ${name}${didYouMean(name, Object.keys(command.commands), `${path} `)}`)
}

/** The config file belongs to the server; other commands read their own keys from it. */
async function invocation(): Promise<Pick<Invocation, "env" | "config" | "print">> {
  const { serverVocabulary } = await import("./config/server-vocabulary.ts")
  return { env: process.env, config: serverVocabulary, print }
}

function print(text: string): void {
  process.stdout.write(text)
}

realClock.setTimeout(compileAsUsual, LONGEST_START_MS, "upkeep")
try {
  const args = process.argv.slice(2)
  // The executable under the name of kubectl is kubectl.
  process.exitCode = await main(IS_KUBECTL.test(process.argv0) ? ["kubectl", ...args] : args)
} catch (err) {
  process.stderr.write(`k3ts: ${errorMessage(err)}\n`)
  process.exitCode = err instanceof UsageError ? WRONG_USAGE : FAILED
  if (process.env.K3TS_DEBUG === "true" && err instanceof Error && !(err instanceof UsageError))
    process.stderr.write(`${err.stack}\n`)
}
// A timer or a connection that a component has left behind must not keep the program alive.
process.exit()
