import type { Command } from "../cli/command.ts"
import { commandHelp } from "../cli/help.ts"

/** Whether a command line asks for help: that of `k3ts` comes before that of kubectl, which has the flags. */
export const asksForHelp = (argv: readonly string[]): boolean => argv.some((arg) => arg === "--help" || arg === "-h")

/** Returns a command that is one of this program's kubectl, which reads the command line itself. */
function commandOf(name: string, summary: string, positionals: string, details: string): Command {
  const command: Command = {
    summary,
    positionals,
    flags: {},
    details: `${details}\nThe flags that all commands of kubectl have are understood too: k3ts kubectl options shows them.`,
    choices: [],
    async invoke({ argv, path, print }) {
      if (asksForHelp(argv)) print(`${commandHelp(path, command)}\n`)
      const { kubectl } = await import("../run-kubectl.ts")
      return kubectl([name, ...argv])
    },
  }
  return command
}

/** The commands by their names in `k3ts`. */
export const KUBECTL_COMMANDS = {
  get: commandOf(
    "get",
    "Show objects, as they are or as they were",
    "TYPE [NAME…]",
    "As kubectl get. With --at POINT it shows what there was at a time (2026-01-31T12:00:00Z), so long ago (10m), or " +
      "at a resourceVersion (docs/history.md).",
  ),
  history: commandOf(
    "history",
    "Show who wrote what to objects, and when",
    "[TYPE/NAME…]",
    "k3ts history deployment/web\nk3ts history -A --user alice --since 1h\nk3ts history --help shows its flags.",
  ),
  diff: commandOf(
    "changes",
    "Show what differs between two points of the history",
    "[TYPE/NAME…]",
    "k3ts diff --from 1h --to 10m -n team\nThe exit code is 1 where something differs. kubectl diff is another command: " +
      "it compares with files.",
  ),
  timeline: commandOf(
    "timeline",
    "Show what happened to an object and to all that it depends on",
    "TYPE/NAME",
    "k3ts timeline deployment/web --since 2h\nk3ts timeline --help shows its flags.",
  ),
  undo: commandOf(
    "undo",
    "Undo writes, also deletions",
    "REVISION…|TYPE/NAME…",
    "k3ts undo deployment/web\nk3ts undo -A --user alice --since 10m\nk3ts undo -n team --at 1h\nIt shows what it would " +
      "write, and asks. k3ts undo --help shows its flags.",
  ),
  record: commandOf(
    "record",
    "Record what a cluster was and what has happened since, to play it in a test",
    "-o FILE",
    "k3ts record -o incident.k3ts --last 2h\nk3ts record -o incident.k3ts -n shop,billing\nstartCluster({ replay: FILE }) of " +
      "k3ts/testing plays it (docs/replay.md). k3ts kubectl record --help shows its flags.",
  ),
} as const
