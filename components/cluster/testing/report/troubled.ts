import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { shortForm } from "../../../../pkg/history/short-form.ts"
import { isWell } from "../history/is-well.ts"
import { whyNeverReady, whyNotReady } from "../matchers/readiness.ts"
import { nameOf } from "./moment.ts"

/** The kinds that are ready at some time, the one that tells most first. Jobs are, too, but may just run. */
const KINDS = ["Pod", "Job", "Deployment", "StatefulSet", "DaemonSet", "PersistentVolumeClaim", "Node", "APIService"]
/** How many objects are told, and how many lines of each. */
const OBJECTS = 5
const LINES = 6

/** The objects of a cluster that are not as they should be. */
export interface Troubled {
  readonly lines: readonly string[]
  /** Their names, and those of their owners and nodes: what happened to these is told first. */
  readonly names: ReadonlySet<string>
}

/** Returns the objects that are not ready, with the reasons. `inWords` tells the state of a pod. */
export function troubledIn(objects: readonly KubeObject[], inWords: (pod: Pod) => readonly string[]): Troubled {
  const bad = objects
    .filter((object) => isBad(object))
    .toSorted((a, b) => KINDS.indexOf(a.kind ?? "") - KINDS.indexOf(b.kind ?? ""))
  const byUid = new Map(objects.map((object) => [object.metadata.uid, object]))
  const names = new Set(bad.map(nameOf))
  for (const object of bad) addRelatives(names, object, byUid)
  const lines = bad.slice(0, OBJECTS).flatMap((object) => linesOf(object, inWords))
  if (bad.length > OBJECTS) lines.push(`and ${bad.length - OBJECTS} more`)
  return { lines, names }
}

function isBad(object: KubeObject): boolean {
  if (!KINDS.includes(object.kind ?? "")) return false
  if (object.kind === "Job") return whyNeverReady(object) !== undefined
  if (object.kind === Pod.kind) return !isWell(object as Pod)
  return whyNotReady(object) !== undefined
}

function linesOf(object: KubeObject, inWords: (pod: Pod) => readonly string[]): readonly string[] {
  if (object.kind === Pod.kind) return inWords(object as Pod).slice(0, LINES)
  return [`${shortForm(object)} (${whyNeverReady(object) ?? whyNotReady(object)})`]
}

/** Adds the names of an object's node, its owners and theirs; owners may be in a circle. */
function addRelatives(
  names: Set<string>,
  object: KubeObject,
  byUid: ReadonlyMap<string | undefined, KubeObject>,
): void {
  const node = object.kind === Pod.kind ? (object as Pod).spec.nodeName : undefined
  if (node) names.add(nameOf({ kind: "Node", metadata: { name: node } }))
  for (const { uid } of object.metadata.ownerReferences ?? []) {
    const owner = byUid.get(uid)
    if (owner === undefined || names.has(nameOf(owner))) continue
    names.add(nameOf(owner))
    addRelatives(names, owner, byUid)
  }
}
