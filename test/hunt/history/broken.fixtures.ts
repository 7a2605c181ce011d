import { expect, test } from "bun:test"
import type { KubeObject } from "../../../components/cluster/testing/testing.ts"
import { Course, type Trouble } from "./course.ts"
import { AT_EACH_WRITE, brokenBy } from "./replay.ts"
import type { Write } from "./seen.ts"

/** The first second of a history. */
export const START = Date.parse("2026-01-01T00:00:00Z")
/** Returns the time so many seconds after the start, as in objects. */
export const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString().replace(".000Z", "Z")

type Fields = { readonly metadata?: object; readonly [field: string]: unknown }

/** Makes an object of the namespace `default` whose UID is its name, with an empty spec and status. */
export function make(kind: string, name: string, { metadata = {}, ...fields }: Fields = {}): KubeObject {
  const object = {
    apiVersion: "v1",
    kind,
    metadata: { name, namespace: "default", uid: name, generation: 1, creationTimestamp: at(0), ...metadata },
    spec: {},
    status: {},
    ...fields,
  }
  return object as unknown as KubeObject
}

/** Makes a pod with a container, on the node `node-0` unless the fields say otherwise. */
export const pod = (name: string, { spec = {}, ...fields }: Fields = {}): KubeObject =>
  make("Pod", name, {
    spec: { nodeName: "node-0", containers: [{ name: "main", image: "app" }], ...(spec as object) },
    ...fields,
  })

export const ownedBy = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: "v1", kind, name, uid: name, controller: true }],
})

export const READY = {
  phase: "Running",
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: at(0) }],
}

export const by = (controller: string): string => `system:serviceaccount:kube-system:${controller}`

/** One write of a history: an object as it is after it, or null for its removal. */
export interface Step {
  readonly object: KubeObject
  readonly gone?: boolean
  readonly author?: string
  /** Seconds after the start; those of the write before by default. */
  readonly after?: number
}

/** Makes a history of the steps: revisions, types and previous states follow from them. */
export function historyOf(steps: readonly Step[]): readonly Write[] {
  const now = new Map<string, KubeObject>()
  let seconds = 0
  return steps.map(({ object, gone = false, author = "system:admin", after }, index) => {
    const revision = index + 1
    seconds = after ?? seconds
    const uid = object.metadata.uid ?? ""
    const previous = now.get(uid)
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
    now.set(uid, stored)
    if (gone) now.delete(uid)
    const type = gone ? "delete" : previous === undefined ? "create" : "update"
    return { revision, type, time: at(seconds), author, object: stored, previous }
  })
}

/** A history that breaks an invariant, and one that differs from it only in what is wrong. */
export interface Row {
  readonly says: string
  readonly broken: readonly Step[]
  readonly sound: readonly Step[]
  readonly troubles?: readonly Trouble[]
}

/** Declares a test for each row: the invariant finds the broken history, and nothing in the sound one. */
export function finds(invariant: keyof typeof AT_EACH_WRITE, rows: readonly Row[]): void {
  test.each(rows.map((row) => [row.says, row] as const))(`${invariant} finds that %s`, (says, row) => {
    const only = { [invariant]: AT_EACH_WRITE[invariant]! }
    // given a history that breaks the invariant, and a similar one that does not
    const course = new Course(row.troubles ?? [])
    // when both are replayed
    const [broken, sound] = [row.broken, row.sound].map((steps) => brokenBy(historyOf(steps), course, only))
    // then only the first one is reported, in these words
    expect(broken!.join("\n")).toContain(says)
    expect(sound!).toEqual([])
  })
}
