import type { Sent } from "./api.ts"
import { stateOf, type State, type WatchedKind } from "./kinds.ts"

/** One version of an object: the answer to a write, or a deletion, whose answer may lack the revision. */
export interface Version {
  readonly object: Sent | undefined
  /** Undefined for a deletion and for the deletion mark before it, until a watcher has received its event. */
  revision: number | undefined
  /** Whether no answer contained the object: only its labels, annotations and fields are known. */
  readonly unseen?: boolean
}

/** The objects that a list or a watch selects. */
export interface Selector {
  readonly namespace?: string
  readonly query: string
  matches(object: Sent, state: State): boolean
}

/** The event by which a watcher with a selector learns of one version. */
export interface Step {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** The version that the event contains; for DELETED the one before the deletion. */
  readonly object: Sent
  readonly revision: number | undefined
  readonly unseen: boolean
}

/** The acknowledged versions of one object, in the order of their revisions. */
export class ObjectHistory {
  readonly kind: WatchedKind
  readonly key: string
  /** Whether only one writer writes the object: then its versions follow from the seed alone. */
  readonly owned: boolean
  readonly versions: Version[] = []

  constructor(kind: WatchedKind, key: string, owned: boolean) {
    this.kind = kind
    this.key = key
    this.owned = owned
  }

  /** Records the answer to a write. The answer to a write that changed nothing has the revision of the version before. */
  acknowledge(object: Sent): void {
    const revision = Number(object.metadata.resourceVersion)
    if (this.versions.some((version) => version.revision === revision)) return
    const after = this.versions.findLastIndex(
      (version) => version.revision === undefined || version.revision < revision,
    )
    this.versions.splice(after + 1, 0, { object, revision })
  }

  /** A graceful deletion with 0 seconds left first sets the deletion timestamp. Source: registry Store.Delete. */
  acknowledgeDeletion({ marked = false } = {}): void {
    const last = this.versions.at(-1)!.object!
    if (marked) this.versions.push({ object: last, revision: undefined, unseen: true })
    this.versions.push({ object: undefined, revision: undefined })
  }

  /**
   * Records the revision at which a watcher received a deletion, or the deletion mark before it. Returns why that
   * revision cannot be right; undefined if it can.
   */
  date(type: "MODIFIED" | "DELETED", revision: number): string | undefined {
    if (this.versions.some((version) => version.revision === revision)) return undefined
    const before = this.versions.findLastIndex((version) => (version.revision ?? Infinity) < revision)
    const rest = this.versions.slice(before + 1)
    const undated = rest.slice(0, rest.findIndex((version) => (version.revision ?? 0) > revision) >>> 0)
    const version = undated.find(
      (one) => one.revision === undefined && (one.object === undefined) === (type === "DELETED"),
    )
    if (version === undefined) return `was ${type} at ${revision}, where no write was answered`
    version.revision = revision
    return undefined
  }

  /** Source of the rules: apiserver pkg/storage/cacher cache_watcher.go convertToWatchEvent. */
  steps(selector: Selector): Step[] {
    const { kind } = this
    const passes = (version: Version | undefined): version is Version & { readonly object: Sent } =>
      version?.object !== undefined && selector.matches(version.object, stateOf(kind, version.object))
    return this.versions.flatMap((version, i): Step[] => {
      const before = this.versions[i - 1]
      const { revision, unseen = false } = version
      if (passes(version))
        return [{ type: passes(before) ? "MODIFIED" : "ADDED", object: version.object, revision, unseen }]
      return passes(before)
        ? [{ type: "DELETED", object: before.object, revision, unseen: before.unseen === true }]
        : []
    })
  }

  /** Returns the version at a revision; "unknown" if the object may have been deleted before or after it. */
  at(revision: number): Version | undefined | "unknown" {
    const at = this.versions.findLastIndex((version) => version.revision !== undefined && version.revision <= revision)
    const next = this.versions[at + 1]
    const deletedSince = next !== undefined && next.revision === undefined
    return deletedSince ? "unknown" : this.versions[at]
  }
}
