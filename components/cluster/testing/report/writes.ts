import { Event } from "../../../../pkg/api/core/v1/event/event.ts"
import { Lease } from "../../../../pkg/api/coordination/v1/lease.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import type { HistoryEntry } from "../history/history.ts"
import { shortForm } from "../../../../pkg/history/short-form.ts"
import { nameOf, shortUser, type Moment } from "./moment.ts"

/** How many fields of a change are told. */
const SHOWN = 2
/** The longest value that is told. */
const LONGEST = 60

/** Fields whose changes alone tell nothing: heartbeats, and what follows from other changes. */
const QUIET =
  /lastHeartbeatTime|lastTransitionTime|lastProbeTime|observedGeneration|metadata\.generation|^status\.images/

/** Returns what a write shows to have happened; nothing for heartbeats and renewals. */
export function momentsOf(entry: HistoryEntry): readonly Moment[] {
  const { object } = entry
  if (object.kind === Event.kind) return eventMoment(entry)
  if (object.kind === Lease.kind && entry.type === "update" && !hasNewHolder(entry)) return []
  const moment = (what: string, isTrouble = false): Moment => ({
    time: Date.parse(entry.time),
    isTrouble,
    who: shortUser(entry.author),
    what,
    about: nameOf(object),
    alike: `${entry.type} ${object.kind}`,
  })
  if (entry.type !== "update") return [moment(`${entry.type} ${nameOf(object)}`)]
  const containers = containerChanges(entry).map(([what, isTrouble]) => moment(`${nameOf(object)}: ${what}`, isTrouble))
  const change = changeOf(entry)
  return change === undefined || (containers.length > 0 && !change.isState)
    ? containers
    : [...containers, moment(`update ${change.words}`)]
}

/** Returns the new state of the object, or else the fields that changed; undefined when only quiet ones did. */
function changeOf(entry: HistoryEntry): { readonly words: string; readonly isState: boolean } | undefined {
  const { object, previous } = entry
  const state = shortForm(object)
  if (previous !== undefined && shortForm(previous) !== state) return { words: state, isState: true }
  const changes = entry.diff().filter(({ path }) => !QUIET.test(path))
  if (changes.length === 0) return undefined
  const shown = changes.slice(0, SHOWN).map((change) => shortened(String(change)))
  const more = changes.length - shown.length
  return { words: `${nameOf(object)}: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`, isState: false }
}

const shortened = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)

const hasNewHolder = ({ object, previous }: HistoryEntry): boolean =>
  (object as Lease).spec?.holderIdentity !== (previous as Lease | undefined)?.spec?.holderIdentity

/** The Events of a pod that starts as it should. */
const ECHOES: ReadonlySet<string> = new Set(["Scheduled", "Pulling", "Pulled", "Created", "Started"])

function eventMoment({ object, type, time, author }: HistoryEntry): readonly Moment[] {
  if (type === "delete") return []
  const { involvedObject, reason = "", message = "", count = 1, ...event } = object as Event
  const { kind, namespace, name } = involvedObject
  const about = nameOf({ kind, metadata: { namespace, name } })
  const isTrouble = event.type === "Warning"
  const what = `${isTrouble ? "Warning " : ""}${reason} ${about}: ${message.trim()}${count > 1 ? ` (${count} times)` : ""}`
  return [
    {
      time: Date.parse(time),
      isTrouble,
      isEcho: !isTrouble && ECHOES.has(reason),
      who: shortUser(author),
      what,
      about,
      alike: `${event.type} ${reason} ${kind}`,
    },
  ]
}

/** Returns what the containers of a pod have begun or ended since the write before, and whether it went wrong. */
function containerChanges({ object, previous }: HistoryEntry): readonly (readonly [what: string, bad: boolean])[] {
  if (object.kind !== Pod.kind || object.apiVersion !== Pod.apiVersion) return []
  const before = new Map(statusesOf(previous as Pod | undefined).map((status) => [status.name, status]))
  return statusesOf(object as Pod).flatMap((status) => {
    const { running, terminated, waiting } = status.state
    const was = before.get(status.name)
    const ended = terminated ?? status.lastState.terminated
    const known = was?.state.terminated ?? was?.lastState.terminated
    return [
      ...(ended !== undefined && ended.containerID !== known?.containerID ? [endOf(status.name, ended)] : []),
      ...(running !== undefined && status.containerID !== was?.containerID
        ? [[`container ${status.name} starts`, false] as const]
        : []),
      ...(waiting?.message !== undefined && waiting.reason !== was?.state.waiting?.reason
        ? [[`container ${status.name} waits: ${waiting.reason}`, true] as const]
        : []),
    ]
  })
}

function endOf(
  name: string,
  { exitCode, reason = "", message = "" }: NonNullable<ContainerStatus["state"]["terminated"]>,
): readonly [string, boolean] {
  const why = message === "" ? "" : `: ${message}`
  return [`container ${name} ends with exit code ${exitCode} (${reason})${why}`, exitCode !== 0]
}

const statusesOf = (pod: Pod | undefined): readonly ContainerStatus[] => [
  ...(pod?.status.initContainerStatuses ?? []),
  ...(pod?.status.containerStatuses ?? []),
]
