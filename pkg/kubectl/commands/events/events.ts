import { parseTime } from "../../../apimachinery/scalars/time.ts"
import type { Event } from "../../../api/core/v1/event/event.ts"
import { goSort } from "../../../go-sort/go-sort.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag, stringSliceFlag } from "../../command/flag.ts"
import { allNamespacesFlag, chunkSizeFlag } from "../../command/shared-flags.ts"
import { listInChunks, type ListQuery } from "../../describe/describe-client.ts"
import { folderOf, restDescribeClient } from "../../describe/rest-describe-client.ts"
import { PRINT_FORMATS, printerOf, printFlags } from "../../printers/print-flags.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"
import { groupVersionText, type Unstructured } from "../../rest/json.ts"
import { parseResourceArg, type GroupVersionKind, type RestMapper } from "../../rest/rest-mapper.ts"
import { eventPrinter } from "./event-printer.ts"
import { typedEvent, typedEventList } from "./typed-event.ts"

const EVENTS = { group: "", version: "v1", resource: "events" }
/** Upstream asks for chunks of this size, whatever --chunk-size says. */
const CHUNK_SIZE = 500

const flags = {
  ...printFlags(),
  watch: boolFlag(false, "After the events that there are, print those that come.", { shorthand: "w" }),
  ...allNamespacesFlag(
    "If present, print the events of all namespaces. A namespace of the context, or of --namespace, is ignored.",
  ),
  for: stringFlag("", "Print only the events about this object, which is given as TYPE/NAME."),
  types: stringSliceFlag([], "Print only the events of these types."),
  "no-headers": boolFlag(false, "Print the table without its header."),
  ...chunkSizeFlag(),
}
type EventsInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/events. */
export const eventsCommand = command({
  use: `events [(-o|--output=)${PRINT_FORMATS.join("|")}] [--for TYPE/NAME] [--watch] [--types=Normal,Warning]`,
  noFlagsInUse: true,
  short: "List events",
  long: `
Display events.

 Prints a table of what matters most of the events: those of a namespace, of all namespaces, or those about one object.`,
  example: `
# List the events of the default namespace
kubectl events

# List the events of all namespaces
kubectl events --all-namespaces

# List the events about a pod, and those that come
kubectl events --for pod/web-pod-13je7 --watch

# List the events as YAML
kubectl events -oyaml

# List only the events of the types 'Warning' and 'Normal'
kubectl events --types=Warning,Normal`,
  flags,
  run,
})

async function run(invocation: EventsInvocation): Promise<void> {
  const { flags: values, factory } = invocation
  const { namespace } = await factory.namespace()
  const subject = values.for === "" ? undefined : await subjectOf(await factory.restMapper(), values.for)
  const printer = await printerFor(invocation)
  for (const type of values.types)
    if (!["normal", "warning"].includes(type.toLowerCase())) throw new Error("valid --types are Normal or Warning")
  const query: ListQuery = subject === undefined ? {} : { fieldSelector: subject }
  const events = { printer, query, namespace }
  await (values.watch ? watchEvents(invocation, events) : listEvents(invocation, events))
}

interface Events {
  readonly printer: ResourcePrinter
  readonly query: ListQuery
  /** The namespace of the command, also where the events of all are asked for. */
  readonly namespace: string
}

async function printerFor({
  flags: values,
  changed,
  factory,
  environment,
}: EventsInvocation): Promise<ResourcePrinter> {
  if (values.output !== "")
    return printerOf(values, "events", {
      readFile: (path) => factory.readFile(path),
      outputIsSet: changed("output"),
    })
  return eventPrinter({
    noHeaders: values["no-headers"],
    withNamespace: values["all-namespaces"],
    now: () => environment.clock.now(),
  })
}

/** Returns the field selector of the events about an object. */
async function subjectOf(mapper: RestMapper, text: string): Promise<string> {
  const parts = text.split("/")
  const [type, name] = parts
  if (name === undefined) throw new Error("--for must be in resource/name form")
  if (parts.length > 2) throw new Error("arguments in resource/name form may not have more than one slash")
  const { kind, group, version } = await kindOf(mapper, type!.toLowerCase())
  const apiVersion = groupVersionText(group, version)
  return `involvedObject.kind=${kind},involvedObject.apiVersion=${apiVersion}${name === "" ? "" : `,involvedObject.name=${name}`}`
}

async function kindOf(mapper: RestMapper, type: string): Promise<GroupVersionKind> {
  const { full, partial } = parseResourceArg(type)
  if (full !== undefined)
    try {
      return await mapper.kindFor(full)
    } catch {
      // What looks like a version may be the beginning of the group.
    }
  return mapper.kindFor(partial)
}

async function listEvents(
  { flags: values, factory, out, errOut }: EventsInvocation,
  { printer, query, namespace }: Events,
): Promise<void> {
  const all = await listInChunks<Unstructured>(restDescribeClient(await factory.client()), {
    path: EVENTS,
    namespace: values["all-namespaces"] ? "" : namespace,
    query,
    limit: CHUNK_SIZE,
  })
  const events = all.filter((event) => isOfType(event, values.types))
  goSort(events, (a, b) => seenAt(a) < seenAt(b))
  if (events.length === 0) {
    const where = values["all-namespaces"] ? "" : ` in ${namespace} namespace`
    return errOut.write(`No events found${where}.\n`)
  }
  // Upstream's printer of names fails for this list, and its error is dropped.
  if (values.output.toLowerCase() === "name") return
  const table = newTabWriter(out)
  await printer.print(typedEventList(events), table)
  await table.flush()
}

async function watchEvents(
  { flags: values, factory, out, environment }: EventsInvocation,
  { printer, query, namespace }: Events,
): Promise<void> {
  const client = await factory.client()
  const table = newTabWriter(out)
  const changes = client.watch({
    method: "GET",
    path: folderOf(EVENTS, values["all-namespaces"] ? "" : namespace),
    query: { ...query, limit: String(CHUNK_SIZE), watch: "true" },
    signal: environment.interrupt,
  })
  for await (const { type, object } of changes) {
    if (type === "ERROR") return
    // Events are deleted when they are old, which is nothing to tell.
    if (type === "DELETED" || type === "BOOKMARK" || !isOfType(object, values.types)) continue
    await printer.print(typedEvent(object), table)
    await table.flush()
  }
}

const isOfType = (event: Unstructured, types: readonly string[]): boolean =>
  types.length === 0 ||
  types.some((type) => type.toLowerCase() === ((event as unknown as Event).type ?? "").toLowerCase())

/** When an event was seen last, in milliseconds since the epoch. */
function seenAt(object: Unstructured): number {
  const { series, lastTimestamp, eventTime } = object as unknown as Event
  const time = series ? series.lastObservedTime : (lastTimestamp ?? eventTime)
  return (time ? parseTime(time) : undefined) ?? Number.NEGATIVE_INFINITY
}
