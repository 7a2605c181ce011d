import type { LogPage } from "../../../history/entry.ts"
import { POINT_FORMS } from "../../../history/point.ts"
import { command, type Invocation } from "../../command/command.ts"
import { intFlag, stringFlag } from "../../command/flag.ts"
import { allNamespacesFlag } from "../../command/shared-flags.ts"
import { historyTargets, readHistory } from "./history-source.ts"
import { entryText } from "./history-text.ts"

const flags = {
  ...allNamespacesFlag("If present, show the writes of all namespaces, and to objects that are in none."),
  user: stringFlag("", "Show only the writes of this user."),
  since: stringFlag("", `Show only later writes: after ${POINT_FORMS}.`),
  until: stringFlag("", "Show only the writes until this point."),
  limit: intFlag(50, "How many writes to show, the newest ones."),
  output: stringFlag("", "The form of the output: json, or text if empty.", { shorthand: "o" }),
}

/** Differs from upstream, which has no such command: only servers of k3ts keep a history (docs/history.md). */
export const historyCommand = command({
  use: "history [TYPE/NAME ... | TYPE [NAME ...]]",
  short: "Show who wrote what to objects, and when",
  long: `
Show who wrote what to objects, when, and by which client, oldest first.

 Without arguments it shows the writes to all objects of the namespace that one may list, but for Leases and Events.`,
  example: `
# Show the writes to a deployment
k3ts history deployment/web

# Show what alice did in the last hour in all namespaces
k3ts history -A --user alice --since 1h`,
  flags,
  run,
})

async function run(invocation: Invocation<typeof flags>): Promise<void> {
  const { flags: values, factory, out, usageError } = invocation
  if (values.output !== "" && values.output !== "json") throw usageError(`-o ${values.output}: must be json`)
  if (values.limit < 1) throw usageError(`--limit ${values.limit}: must be above 0`)
  const targets = await historyTargets(invocation, values["all-namespaces"])
  const { user, since, until, limit } = values
  const pages = await Promise.all(targets.map((target) => readHistory(factory, target, { user, since, until, limit })))
  const page = merged(pages, limit)
  if (values.output === "json") return out.write(`${JSON.stringify(page, undefined, 2)}\n`)
  for (const entry of page.entries) await out.write(entryText(entry))
  if (page.entries.length === 0) await invocation.errOut.write("No writes found in the history that is kept.\n")
  if (page.more) await invocation.errOut.write(`There are older ones: --limit ${limit * 10} shows more.\n`)
}

/** Returns the entries of several targets as those of one. */
function merged(pages: readonly LogPage[], limit: number): LogPage {
  const entries = pages.flatMap((page) => page.entries).sort((a, b) => a.revision - b.revision)
  return {
    begins: pages[0]?.begins ?? 0,
    revision: pages[0]?.revision ?? 0,
    entries: entries.slice(-limit),
    more: entries.length > limit || pages.some(({ more }) => more),
  }
}
