import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, durationFlag, stringFlag } from "../../command/flag.ts"
import { formatDuration } from "../../../apimachinery/scalars/time.ts"
import { LONGEST_SPAN_MS } from "../../../replay/format.ts"
import { printed } from "../../../terminal/printed.ts"
import { goPathError } from "../../environment/files.ts"
import { record } from "./recording.ts"

const flags = {
  output: stringFlag("", "The file to write: incident.k3ts.", { shorthand: "o" }),
  last: durationFlag(
    3_600_000,
    "How far back the recording begins, where the server has a history. 0: now, and what happens is watched.",
  ),
  for: durationFlag(
    0,
    "How long to record what happens from now on. Where the server has no history, until Ctrl-C unless given.",
  ),
  anonymise: boolFlag(
    false,
    "Replace names, labels, texts, images, addresses and all values of Secrets and ConfigMaps by others, the same by the same.",
  ),
}

export type RecordFlags = typeof flags

/** Differs from upstream, which has no such command (docs/replay.md). */
export const recordCommand = command({
  use: "record -o FILE",
  short: "Record what a cluster was and what has happened since, to play it in a test",
  long: `
Record the objects of a cluster as they were some time ago, and all writes since, with their times and authors.

 startCluster({ replay: FILE }) of k3ts/testing plays the recording. It has what one may list; the rest is named. Without -n it is of all namespaces; -n team,other is of these, and of what is in none.`,
  example: `
# Record the last two hours
k3ts record -o incident.k3ts --last 2h

# Record what happens in the next ten minutes in two namespaces, in any Kubernetes
k3ts record -o incident.k3ts --for 10m -n shop,billing`,
  flags,
  run,
})

async function run(invocation: Invocation<RecordFlags>): Promise<void> {
  const { flags: values, args, usageError, environment, errOut, out } = invocation
  if (args.length > 0) throw usageError("record takes no arguments")
  if (values.output === "") throw usageError("name the file: -o incident.k3ts")
  if (values.last + values.for > LONGEST_SPAN_MS)
    throw usageError(`--last and --for are together at most ${formatDuration(LONGEST_SPAN_MS)}`)
  const { files } = environment
  // Said now, and not when all is read: a file does not take the place of a folder.
  if ((await files.stat(values.output))?.isDirectory === true)
    throw goPathError("open", values.output, Object.assign(new Error("is a folder"), { code: "EISDIR" }), {
      writing: true,
    })
  // Whole or not at all: the file gets its name when it has its end. A file or link that is there is not written to:
  // others may have made it, and could read what is recorded.
  const temporary = `${values.output}.${Math.floor(environment.random.next() * 1e10)}.part`
  const file = await files.open(temporary, { mode: 0o600, exclusively: true }).catch((err: unknown) => {
    throw goPathError("open", values.output, err, { writing: true })
  })
  try {
    const { namespace, explicit } = await invocation.factory.namespace()
    const told = await record(invocation.factory, (part) => file.write(part), {
      lastMs: values.last,
      namespaces: explicit ? namespace.split(",") : [],
      forMs: values.for,
      anonymise: values.anonymise,
    })
    await file.close()
    await files.rename(temporary, values.output)
    await errOut.write(printed(told.left.map((line) => `not recorded: ${line}`)))
    await out.write(
      printed([`${values.output}: ${told.objects} objects at ${told.begin}, ${told.writes} writes until ${told.end}`]),
    )
  } catch (err) {
    await file.close().catch(() => undefined)
    await files.remove(temporary).catch(() => undefined)
    throw err
  }
}
