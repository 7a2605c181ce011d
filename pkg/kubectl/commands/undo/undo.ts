import type { LogEntry } from "../../../history/entry.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { pushAll } from "../../../lists/push-all.ts"
import { command, type Invocation } from "../../command/command.ts"
import { SilentExit } from "../../errors/errors.ts"
import { printed } from "../../../terminal/printed.ts"
import { changesText } from "../history/history-text.ts"
import { objectWords } from "../history/history-source.ts"
import { carryOut } from "./carry-out.ts"
import { chosenWrites } from "./chosen.ts"
import { planUndo, type OnConflict, type UndoPlan, type UndoStep } from "./plan.ts"
import { undoFlags, type UndoFlags } from "./undo-flags.ts"

/** Differs from upstream, which has no such command: only servers of k3ts keep a history (docs/history.md). */
export const undoCommand = command({
  use: "undo (REVISION ... | TYPE/NAME ... | --user USER | --apply | --at POINT)",
  short: "Undo writes",
  long: `
Undo writes: one by its revision, the last one to an object, those of a user, or those of an apply.

 Writes of others since then stay. Where they have changed the same fields that is a conflict, and nothing is done unless --overwrite or --skip-conflicts says what counts. A deletion is undone with all that was deleted with it.`,
  example: `
# Undo the last write to a deployment, also its deletion
k3ts undo deployment/web

# Undo what alice did in the last ten minutes in all namespaces
k3ts undo -A --user alice --since 10m

# Put a namespace back to what it was an hour ago, and ask nothing
k3ts undo -n team --at 1h --yes`,
  flags: undoFlags,
  run,
})

async function run(invocation: Invocation<UndoFlags>): Promise<void> {
  const { flags, factory, out, errOut, usageError } = invocation
  if (flags.overwrite && flags["skip-conflicts"])
    throw usageError("--overwrite and --skip-conflicts contradict each other")
  const on: OnConflict = flags.overwrite ? "overwrite" : flags["skip-conflicts"] ? "skip" : "ask"
  const plan = await planUndo(factory, await chosenWrites(invocation), on)
  const isJson = flags.output === "json"
  await out.write(isJson ? `${JSON.stringify(jsonOf(plan), undefined, 2)}\n` : planText(plan))
  if (plan.conflicts.length > 0 && on === "ask") {
    await errOut.write("Others have written since: --overwrite restores, --skip-conflicts leaves what they wrote.\n")
    throw new SilentExit(1)
  }
  if (plan.steps.length === 0) return isJson ? undefined : out.write("There is nothing to do.\n")
  const dryRun = flags["dry-run"]
  if (!dryRun && !flags.yes && !(await isAgreed(invocation))) throw new SilentExit(1)
  let failures = 0
  for await (const { step, error } of carryOut(
    { client: await factory.client(), clock: invocation.environment.clock },
    plan,
    dryRun,
  )) {
    if (error !== undefined) {
      failures++
      await errOut.write(`${step.words}: cannot ${step.action} it: ${errorMessage(error)}\n`)
    } else if (!isJson) await out.write(`${step.words} ${DONE[step.action]}${dryRun ? " (dry run)" : ""}\n`)
  }
  if (failures > 0) throw new SilentExit(1)
}

const DONE = { create: "created", update: "updated", replace: "replaced", delete: "deleted" } as const

async function isAgreed({ environment, out }: Invocation<UndoFlags>): Promise<boolean> {
  await out.write("Do it? (y/N): ")
  let answer = ""
  const decoder = new TextDecoder()
  for await (const part of environment.stdin) {
    answer += decoder.decode(part, { stream: true })
    if (answer.includes("\n")) break
  }
  if (answer.split("\n", 1)[0]!.trim().toLowerCase() === "y") return true
  await out.write("nothing is done\n")
  return false
}

/** The most undone writes that are listed. */
const MOST_LISTED = 20

function planText({ undone, steps, conflicts, left }: UndoPlan): string {
  const people = [...new Set(undone.map(({ user }) => user))].join(", ")
  const lines = [`Undo ${undone.length} write${undone.length === 1 ? "" : "s"}, of ${people}:`]
  pushAll(
    lines,
    undone.slice(0, MOST_LISTED).map((entry) => `  ${entryLine(entry)}`),
  )
  if (undone.length > MOST_LISTED) lines.push(`  … and ${undone.length - MOST_LISTED} more`)
  if (steps.length > 0) pushAll(lines, ["by:"], steps.flatMap(stepLines))
  if (conflicts.length > 0)
    pushAll(
      lines,
      ["conflicts:"],
      conflicts.map(({ words, why }) => `  ${words}: ${why}`),
    )
  if (left.length > 0)
    pushAll(
      lines,
      ["left as it is:"],
      left.map((text) => `  ${text}`),
    )
  return printed(lines)
}

const entryLine = (entry: LogEntry): string =>
  `${entry.revision}  ${entry.time.slice(0, 19)}Z  ${entry.user}  ${entry.verb} ${objectWords(entry)}`

const stepLines = ({ action, words, notes, changes }: UndoStep): readonly string[] => [
  `  ${action} ${words}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`,
  ...changesText(changes).map((line) => `  ${line}`),
]

const jsonOf = ({ undone, steps, conflicts, left }: UndoPlan): object => ({
  undone: undone.map(({ revision, time, user, verb, kind, namespace, name }) => ({
    revision,
    time,
    user,
    verb,
    kind,
    namespace,
    name,
  })),
  steps: steps.map(({ action, words, changes, notes }) => ({ action, object: words, changes, notes })),
  conflicts: conflicts.map(({ words, why }) => ({ object: words, why })),
  left,
})
