import type { HistoryEntry, KubeObject } from "../../../components/cluster/testing/testing.ts"
import type { Course } from "./course.ts"

/** The fields of a history entry that the invariants read. */
export type Write = Pick<HistoryEntry, "revision" | "type" | "time" | "author" | "object" | "previous">

/** A state of an object, who wrote it, and when it was written and replaced, in milliseconds since the epoch. */
interface Version {
  readonly object: KubeObject
  readonly author: string
  readonly from: number
  to: number
}

/**
 * The objects as they were after each write, and as a component may still have seen them: an invariant about a decision
 * must allow every state that the component could know.
 */
export class Seen {
  readonly course: Course
  readonly #versions = new Map<string, Map<string, Version[]>>()
  /** The time of the write, in milliseconds since the epoch. */
  now = 0
  /** The earliest time whose state may still be acted on. */
  since = -Infinity

  constructor(course: Course) {
    this.course = course
  }

  /** Takes over a write. */
  take({ type, time, author, object, previous }: Write): void {
    this.now = Date.parse(time)
    this.since = this.course.seenSince(this.now)
    const kind = object.kind ?? ""
    let ofKind = this.#versions.get(kind)
    if (ofKind === undefined) this.#versions.set(kind, (ofKind = new Map<string, Version[]>()))
    const uid = object.metadata.uid ?? ""
    let versions = ofKind.get(uid)
    if (versions === undefined) ofKind.set(uid, (versions = []))
    if (versions.length === 0 && previous !== undefined)
      versions.push({ object: previous, author: "", from: -Infinity, to: this.now })
    const last = versions.at(-1)
    if (last !== undefined) last.to = this.now
    if (type !== "delete") versions.push({ object, author, from: this.now, to: Infinity })
  }

  /** Returns the objects of the kind that exist now. */
  all<T extends KubeObject>(kind: string): readonly T[] {
    return [...(this.#versions.get(kind)?.values() ?? [])].flatMap((versions) => {
      const last = versions.at(-1)
      return last?.to === Infinity ? [last.object as T] : []
    })
  }

  /** Returns the object now; undefined when it does not exist. */
  get<T extends KubeObject>(kind: string, uid: string | undefined): T | undefined {
    const last = this.#versions
      .get(kind)
      ?.get(uid ?? "")
      ?.at(-1)
    return last?.to === Infinity ? (last.object as T) : undefined
  }

  /** Returns all states of an object that a component may act on; none if it did not exist in that time. */
  recent<T extends KubeObject>(kind: string, uid: string | undefined, since = this.since): readonly T[] {
    return (this.#versions.get(kind)?.get(uid ?? "") ?? [])
      .filter(({ to }) => to >= since)
      .map(({ object }) => object as T)
  }

  /**
   * Returns the latest state of an object that a component surely knows, which writes as `author`: one that it wrote
   * itself, or that was there before everything that it may not have seen.
   */
  sure<T extends KubeObject>(kind: string, uid: string | undefined, author: string): T | undefined {
    return this.#versions
      .get(kind)
      ?.get(uid ?? "")
      ?.findLast((version) => version.author === author || version.from < this.since)?.object as T | undefined
  }

  /** Returns the last state of each object of the kind that there ever was. */
  ever<T extends KubeObject>(kind: string): readonly T[] {
    return [...(this.#versions.get(kind)?.values() ?? [])].map((versions) => versions.at(-1)!.object as T)
  }

  /** Returns the recent states of all objects of the kind, an array for each object. */
  allRecent<T extends KubeObject>(kind: string): readonly (readonly T[])[] {
    return [...(this.#versions.get(kind)?.keys() ?? [])]
      .map((uid) => this.recent<T>(kind, uid))
      .filter(({ length }) => length > 0)
  }

  /** Whether the object exists, and existed before everything that a component may not have seen. */
  isOld(kind: string, uid: string | undefined): boolean {
    const first = this.#versions.get(kind)?.get(uid ?? "")?.[0]
    return first !== undefined && first.from < this.since
  }
}
