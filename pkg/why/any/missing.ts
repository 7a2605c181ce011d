import { nearest } from "../../names/suggest.ts"
import type { Event } from "../../api/core/v1/event/event.ts"
import { finding, nameOf, type Finding, type ObjectRef } from "../answer.ts"
import { eventLine, seenAt } from "../events.ts"
import { EVENTS, NAMESPACES, type Kind } from "../reading/kinds.ts"
import type { Reader } from "../reading/reader.ts"

/** What ended a pod that is gone, by the reasons of its last Events. */
const ENDS: Readonly<Record<string, readonly [code: string, says: string]>> = {
  Preempted: ["preempted", "it was ended to make room for a pod of a higher priority"],
  Evicted: ["evicted", "the kubelet evicted it, to save its node"],
  TaintManagerEviction: ["evicted-by-taint", "it was evicted because of a taint of its node"],
  NodeNotReady: ["node-lost", "its node did not answer"],
}

/** Whether an Event tells of the end of a pod. `index` counts the later ones: a node that did not answer may do so again. */
const isEnd = ({ reason = "", message = "" }: Event, index: number): boolean =>
  ENDS[reason] !== undefined &&
  (reason !== "NodeNotReady" || index === 0) &&
  (reason !== "TaintManagerEviction" || message.startsWith("Marking for deletion"))

/** Returns that an object does not exist, with what has become of it or what is meant. */
export async function missingFinding(reader: Reader, kind: Kind, ref: ObjectRef): Promise<Finding> {
  const events = (await reader.listIfAllowed(EVENTS, ref.namespace ?? "default")) ?? []
  const last = events
    .filter(({ involvedObject: about }) => about.kind === kind.kind && about.name === ref.name)
    .toSorted((a, b) => seenAt(b) - seenAt(a))
    // An earlier object of the same name may have ended otherwise.
    .filter(({ involvedObject: about }, _index, [newest]) => about.uid === newest?.involvedObject.uid)
  const what = `${nameOf(ref)} does not exist`
  const ending = await endingNamespace(reader, kind, ref)
  const end = last.find((event, index) => isEnd(event, index))
  const evidence = last.slice(0, 4).map(eventLine)
  if (end !== undefined) {
    const [code, says] = ENDS[end.reason ?? ""]!
    return finding(code, `${what} any more: ${says}`, { evidence })
  }
  const code = `${ref.kind.toLowerCase()}-missing`
  const deletion = events
    .filter((event) => event.reason === "SuccessfulDelete" && wordsIn(event.message).includes(ref.name))
    .toSorted((a, b) => seenAt(b) - seenAt(a))[0]
  if (deletion !== undefined)
    return finding(
      code,
      `${what} any more: ${deletion.involvedObject.kind} ${deletion.involvedObject.namespace ?? ""}/${deletion.involvedObject.name} has deleted it` +
        (deletion.involvedObject.kind === "ReplicaSet"
          ? ", which had more pods with the labels of its selector than it wants"
          : ""),
      { evidence: [eventLine(deletion), ...evidence] },
    )
  return last.length > 0
    ? finding(code, `${what} any more${ending}`, { evidence: ["the last that was said of it:", ...evidence] })
    : finding(code, `${what}${ending}`, { evidence: await insteadOf(reader, kind, ref) })
}

const wordsIn = (text = ""): readonly string[] => text.split(/[\s,]+/)

/** Says that the namespace of an object does not exist, or will not. */
async function endingNamespace(reader: Reader, kind: Kind, { namespace }: ObjectRef): Promise<string> {
  if (!kind.namespaced || namespace === undefined) return ""
  const found = await reader.get(NAMESPACES, undefined, namespace).catch(() => null)
  if (found === undefined) return `, nor does its namespace ${namespace}`
  return found?.metadata.deletionTimestamp === undefined ? "" : `: its namespace ${namespace} is being deleted`
}

/** Returns what there is instead: a similar name, or the same one in another namespace. */
async function insteadOf(reader: Reader, kind: Kind, { name, namespace }: ObjectRef): Promise<readonly string[]> {
  const all = (await reader.listIfAllowed(kind, namespace)) ?? []
  const near = nearest(
    name,
    all.map(({ metadata }) => metadata.name ?? ""),
  )
  if (near !== undefined) return [`there is a ${kind.kind} ${near}`]
  const elsewhere = kind.namespaced ? ((await reader.listIfAllowed(kind)) ?? []) : []
  return elsewhere
    .filter(({ metadata }) => metadata.name === name)
    .map(({ metadata }) => `there is one of this name in namespace ${metadata.namespace ?? ""}`)
}
