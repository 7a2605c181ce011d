import type { KubeObject } from "../../../apimachinery/resource.ts"
import { changesBetween } from "../../../history/changes.ts"
import type { ChangedField, LogEntry } from "../../../history/entry.ts"
import { maskedChanges } from "../../../history/masked.ts"
import { withConsequences } from "../../../history/undo/cascade.ts"
import { sameManagers, withoutSystemFields, type ManagerEntry } from "../../../history/undo/system-fields.ts"
import { targetsOf, type Target } from "../../../history/undo/targets.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { largest } from "../../../lists/extremes.ts"
import { pushAll } from "../../../lists/push-all.ts"
import type { Factory } from "../../factory/factory.ts"
import { parseGroupVersion } from "../../rest/json.ts"
import { currentObject, objectPath, objectWords } from "../history/history-source.ts"
import { isPerson, type Chosen } from "./chosen.ts"
import { creatable, groupOf, isAdopted, leftTo } from "./restorable.ts"

/** One write that undoes others. */
export interface UndoStep {
  readonly action: "create" | "update" | "replace" | "delete"
  /** `Deployment default/web`. */
  readonly words: string
  /** The path of the object, and of its collection. */
  readonly path: string
  readonly collection: string
  /** What the object is to be, without what belongs to the system; for a deletion it as it is. */
  readonly object: KubeObject
  /** The object as it was when the plan was made. */
  readonly current: KubeObject | undefined
  readonly changes: readonly ChangedField[]
  readonly notes: readonly string[]
  readonly target: Target
}

/** Something that another write has changed since. */
export interface UndoConflict {
  readonly words: string
  readonly why: string
}

export interface UndoPlan {
  readonly undone: readonly LogEntry[]
  /** In the order in which they are made. */
  readonly steps: readonly UndoStep[]
  readonly conflicts: readonly UndoConflict[]
  /** What is left as it is, and why. */
  readonly left: readonly string[]
}

/** What happens where others have written since: `ask` makes no difference but that conflicts end the command. */
export type OnConflict = "ask" | "overwrite" | "skip"

/** As many objects are read at once: an undo may concern thousands, and a server refuses more than it can queue. */
const AT_ONCE = 32

/** Finds out which writes undo the chosen ones. */
export async function planUndo(factory: Factory, chosen: Chosen, on: OnConflict): Promise<UndoPlan> {
  const undone = withConsequences(chosen.entries, chosen.revisions)
  const targets = targetsOf(chosen.entries, undone, on === "overwrite" ? "restored" : "kept")
  const parts: Part[] = []
  for (let i = 0; i < targets.length; i += AT_ONCE)
    pushAll(parts, await Promise.all(targets.slice(i, i + AT_ONCE).map((target) => stepFor(factory, target, on))))
  const steps = parts.flatMap(({ step }) => step ?? [])
  return {
    undone: chosen.entries.filter(({ revision }) => undone.has(revision)),
    steps: inOrder(steps),
    conflicts: parts.flatMap(({ conflicts }) => conflicts),
    left: [...chosen.notes, ...parts.flatMap(({ left }) => left)],
  }
}

interface Part {
  readonly step?: UndoStep
  readonly conflicts: readonly UndoConflict[]
  readonly left: readonly string[]
}

async function stepFor(factory: Factory, target: Target, on: OnConflict): Promise<Part> {
  const { last, object } = target
  const { group, version } = parseGroupVersion(last.apiVersion)
  const words = objectWords(last)
  const mapper = await factory.restMapper()
  const mapping = await mapper.restMapping(group, last.kind, version).catch(() => undefined)
  const nothing: Part = { conflicts: [], left: [] }
  if (mapping === undefined)
    return { ...nothing, left: [`${words}: its kind is not served now; restore it, and undo again`] }
  const path = objectPath(mapping, last)
  const current = await currentObject(await factory.client(), path)
  if (object === undefined && current === undefined) return nothing
  const why = leftTo(target, current !== undefined)
  if (why !== undefined) return { ...nothing, left: [`${words}: ${why}`] }
  const conflicts = conflictsOf(target, current).map((text) => ({ words, why: text }))
  const skipsWhole = on === "skip" && conflicts.length > target.conflicts.length
  if (skipsWhole) return { conflicts, left: [] }
  const step = stepOf(target, current)
  if (step === undefined) return { conflicts, left: [] }
  const collection = objectPath(mapping, { namespace: last.namespace, name: "" })
  return { step: { ...step, words, path, collection, target, current }, conflicts, left: [] }
}

/** Returns what others have changed since: fields, or whether the object is there. */
function conflictsOf({ last, object, undone, others, conflicts }: Target, current: KubeObject | undefined): string[] {
  const masked = maskedChanges(
    conflicts.map(({ path, restored, kept }) => ({ path, before: restored, after: kept })),
    last,
  )
  const found = masked.map(
    ({ path, before, after }) => `${path} was changed since: ${text(before)} would be restored, it is ${text(after)}`,
  )
  if (current?.metadata.deletionTimestamp !== undefined) found.push("it is being deleted, and waits for finalizers")
  const persons = others.filter(isPerson)
  if (object === undefined && persons.length > 0)
    found.push(`it was created, and changed since by ${persons.join(", ")}`)
  if (object === undefined && last.kind === "Namespace") found.push("everything in it would be deleted with it")
  if (object !== undefined && current === undefined && undone.at(-1) !== last && last.verb === "delete")
    found.push(`it was deleted since by ${last.user}`)
  return found
}

const text = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value))

type Made = Pick<UndoStep, "action" | "object" | "changes" | "notes">

function stepOf({ object, managers }: Target, current: KubeObject | undefined): Made | undefined {
  if (object === undefined) return { action: "delete", object: current!, changes: [], notes: [] }
  if (current === undefined) {
    const { object: sent, notes } = creatable(object)
    return { action: "create", object: owned(sent, managers), changes: [], notes }
  }
  const now = withoutSystemFields(current)
  const changes = maskedChanges(changesBetween(now, object), current)
  const isSame = changes.length === 0 && deepEqual(now, object)
  if (isSame && sameManagers(managers, current)) return undefined
  const sent = owned(object, managers)
  // An apply of values that are there already makes its manager an owner of them.
  if (isSame)
    return { action: "update", object: sent, changes, notes: ["its fields belong to whom they belonged before"] }
  return isReplaced(object, current)
    ? { action: "replace", object: sent, changes, notes: ["its address can only be restored by making it anew"] }
    : { action: "update", object: sent, changes, notes: [] }
}

/** Whether an update cannot restore an object: no Service gets another address. */
function isReplaced(object: KubeObject, current: KubeObject): boolean {
  const addressOf = (each: KubeObject) => (each as { readonly spec?: { readonly clusterIP?: string } }).spec?.clusterIP
  return object.apiVersion === "v1" && object.kind === "Service" && addressOf(object) !== addressOf(current)
}

const owned = (object: KubeObject, managedFields: readonly ManagerEntry[]): KubeObject =>
  ({ ...object, metadata: { ...object.metadata, managedFields } }) as KubeObject

const FIRST = ["Namespace", "CustomResourceDefinition", "ServiceAccount", "Secret", "ConfigMap"]

/** Creates come first, owners before what they own, then updates, then deletions. */
function inOrder(steps: readonly UndoStep[]): readonly UndoStep[] {
  const uids = new Map(steps.map((step) => [step.target.before?.metadata.uid, step]))
  const depths = new Map<UndoStep, number>()
  /** How many owners there are above, on the longest way; each object is counted once, since owners may form circles. */
  const depth = (step: UndoStep): number => {
    const known = depths.get(step)
    if (known !== undefined) return known
    depths.set(step, 0)
    const owners = step.target.before?.metadata.ownerReferences ?? []
    const above = owners.flatMap(({ uid }) => {
      const owner = uids.get(uid)
      return owner === undefined ? [] : [1 + depth(owner)]
    })
    const found = largest([0, ...above])
    depths.set(step, found)
    return found
  }
  const rank = (step: UndoStep): number => {
    if (step.action === "update" || step.action === "replace") return 1000
    if (step.action === "delete") return 2000
    const first = FIRST.indexOf(step.object.kind)
    // What owners adopt is there before them; otherwise they would make it anew.
    if (isAdopted(step.object)) return FIRST.length
    return first === -1 ? FIRST.length + 1 + depth(step) : first
  }
  const revision = ({ target }: UndoStep) => target.undone[0]?.revision ?? 0
  return steps.toSorted(
    (a, b) =>
      rank(a) - rank(b) ||
      groupOf(a.object).localeCompare(groupOf(b.object)) ||
      (a.action === "delete" ? revision(b) - revision(a) : revision(a) - revision(b)),
  )
}
