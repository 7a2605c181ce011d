import type { KubeObject } from "../../../apimachinery/resource.ts"
import { changesBetween } from "../../../history/changes.ts"
import { maskedChanges } from "../../../history/masked.ts"
import type { ChangedField, LogEntry } from "../../../history/entry.ts"
import { POINT_FORMS } from "../../../history/point.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { allNamespacesFlag } from "../../command/shared-flags.ts"
import { SilentExit } from "../../errors/errors.ts"
import { printed } from "../../../terminal/printed.ts"
import { historyTargets, objectWords, readHistory } from "./history-source.ts"
import { changesText } from "./history-text.ts"

/** The most writes between the two points. */
const MOST_WRITES = 10_000

const flags = {
  ...allNamespacesFlag("If present, compare the objects of all namespaces, and those that are in none."),
  from: stringFlag("", `The earlier point: ${POINT_FORMS}.`),
  to: stringFlag("", "The later point; now if empty."),
  status: boolFlag(false, "If true, show differences of the status too."),
  output: stringFlag("", "The form of the output: json, or text if empty.", { shorthand: "o" }),
}

/** Differs from upstream, which has no such command (docs/history.md). */
export const changesCommand = command({
  use: "diff --from POINT [--to POINT] [TYPE/NAME ... | TYPE [NAME ...]]",
  short: "Show what differs between two points of the history",
  long: `
Show the objects that were created, changed or deleted between two points of the history, and which fields differ.

 The exit code is 1 where there are differences, and above 1 where the comparison failed.`,
  example: `
# What has changed in the namespace team in the last hour?
k3ts diff --from 1h -n team`,
  flags,
  run,
})

/** An object that differs. */
interface Difference {
  readonly object: string
  readonly change: "created" | "deleted" | "changed" | "made anew"
  /** Who has written in between, each user once. */
  readonly users: readonly string[]
  readonly changes: readonly ChangedField[]
}

async function run(invocation: Invocation<typeof flags>): Promise<void> {
  const { flags: values, factory, out, usageError } = invocation
  if (values.from === "") throw usageError(`--from is missing: ${POINT_FORMS}`)
  if (values.output !== "" && values.output !== "json") throw usageError(`-o ${values.output}: must be json`)
  const targets = await historyTargets(invocation, values["all-namespaces"])
  const query = { since: values.from, until: values.to, limit: MOST_WRITES, objects: true }
  const pages = await Promise.all(targets.map((target) => readHistory(factory, target, query)))
  if (pages.some(({ more }) => more))
    throw new Error(`there are more than ${MOST_WRITES} writes between the two points: name a kind or a namespace`)
  const found = differencesOf(
    pages.flatMap(({ entries }) => entries),
    values.status,
  )
  if (values.output === "json") await out.write(`${JSON.stringify(found, undefined, 2)}\n`)
  else for (const difference of found) await out.write(textOf(difference))
  if (found.length > 0) throw new SilentExit(1)
}

function differencesOf(entries: readonly LogEntry[], withStatus: boolean): readonly Difference[] {
  const byObject = Map.groupBy(entries, (entry) => `${entry.apiVersion.split("/")[0]!} ${objectWords(entry)}`)
  return [...byObject.values()].flatMap((writes) => {
    const [first, last] = [writes[0]!, writes.at(-1)!]
    const before = first.verb === "create" ? undefined : first.previous
    const after = last.verb === "delete" ? undefined : last.object
    const changes =
      before === undefined || after === undefined
        ? []
        : maskedChanges(changesBetween(shown(before, withStatus), shown(after, withStatus)), last)
    const change = changeOf(before, after)
    if (change === undefined || (change === "changed" && changes.length === 0)) return []
    const users = [...new Set(writes.map(({ user }) => user))]
    return [{ object: objectWords(last), change, users, changes }]
  })
}

function changeOf(before: KubeObject | undefined, after: KubeObject | undefined): Difference["change"] | undefined {
  if (before === undefined) return after === undefined ? undefined : "created"
  if (after === undefined) return "deleted"
  return before.metadata.uid === after.metadata.uid ? "changed" : "made anew"
}

function shown(object: KubeObject, withStatus: boolean): object {
  if (withStatus) return object
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  return rest
}

const textOf = ({ object, change, users, changes }: Difference): string =>
  printed([`${object} ${change}, by ${users.join(", ")}`, ...changesText(changes)])
