import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import type { Command } from "../cli/command.ts"
import { commandHelp } from "../cli/help.ts"
import { asksForHelp } from "./kubectl-commands.ts"

const TRY = "--try"

/** Flags that every command of kubectl has too: which cluster, and as whom. */
const whyCommand: Command = {
  summary: "Tell why an object is not well, or what in the cluster is not",
  positionals: "[KIND/NAME]",
  flags: {},
  details:
    "The chain from the object to the cause, through its owners and needs, and the command that mends it (docs/why.md). " +
    "The same as k3ts kubectl why, with its flags: -n NAMESPACE, -o json, --kubeconfig, --context, --as. " +
    "--try makes each mend in a copy of the cluster in memory first, and tells what came of it. " +
    "Exit code 0: well, or nothing is wrong yet, 1: not well, 2: it cannot be told.",
  choices: [],
  async invoke({ argv, path, print }) {
    if (asksForHelp(argv)) print(`${commandHelp(path, whyCommand)}\n`)
    if (argv.includes(TRY)) {
      compileAsUsual()
      const { whyAndTry } = await import("../forecast/try-mends.ts")
      return whyAndTry(
        argv.filter((arg) => arg !== TRY),
        print,
      )
    }
    const { kubectl } = await import("../run-kubectl.ts")
    return kubectl(["why", ...argv])
  },
}

export default whyCommand
