import type { SharedChange, SharedEntry, SharedLog, SharedLogObserver, SharedWrite } from "./shared-log.ts"
import { SharedLogError } from "./shared-log.ts"

/**
 * What happens to a commit. before, after, late: the answer of the commit is lost, and it does not happen, has
 * happened, or happens just before the next commit. unreached: the log cannot be reached, and the commit does not
 * happen.
 */
export type Mishap = "before" | "after" | "late" | "unreached"

/** A log in memory, to which any number of servers connect. Each change reaches every watch in a turn of its own. */
export class MemoryLog {
  readonly entries = new Map<string, SharedEntry>()
  readonly changes: SharedChange[] = []
  readonly watches = new Set<{ sent: number; readonly observer: SharedLogObserver }>()
  revision = 0
  compacted = 0
  /** Why the log cannot be reached now; undefined when it can. */
  lost: SharedLogError | undefined
  /** Whether changes are withheld from watches for now. */
  #isHeld = false
  /** What happens to the next commits, in order. */
  readonly mishaps: Mishap[] = []
  /** Writes whose answer was lost, and which happen just before the next commit. */
  #late: readonly SharedWrite[] = []

  connect(): SharedLog {
    const own = new Set<{ close(): void }>()
    return {
      read: async (page) => {
        this.#refuseWhenLost()
        const all = [...this.entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
        for (let i = 0; i < all.length; i += 2) page(all.slice(i, i + 2))
        return Promise.resolve(this.revision)
      },
      watch: (after, observer) => {
        const watch = { sent: after, observer }
        const close = () => void this.watches.delete(watch)
        own.add({ close })
        queueMicrotask(() => {
          if (this.lost !== undefined) return observer.ended(this.lost)
          if (after < this.compacted) return observer.ended(new SharedLogError("compacted", "changes are gone"))
          this.watches.add(watch)
          this.#send()
        })
        return { close }
      },
      commit: async (writes) => {
        await Promise.resolve()
        this.#refuseWhenLost()
        const mishap = this.mishaps.shift()
        if (mishap === "unreached") throw new SharedLogError("unavailable", "no server answers")
        if (this.#late.length > 0) this.#commit(this.#late)
        this.#late = mishap === "late" ? writes : []
        const revisions = mishap === "before" || mishap === "late" ? undefined : this.#commit(writes)
        if (mishap !== undefined) throw new SharedLogError("unknown", "the connection was lost")
        return revisions
      },
      latest: async () => {
        this.#refuseWhenLost()
        return Promise.resolve(this.revision)
      },
      before: async (key, revision) => {
        if (revision <= this.compacted) throw new SharedLogError("compacted", "changes are gone")
        const last = this.changes.findLast((change) => change.key === key && change.revision < revision)
        return Promise.resolve(last?.value === undefined ? undefined : last)
      },
      compact: async (revision) => {
        this.compacted = revision
        return Promise.resolve()
      },
      close: () => {
        for (const { close } of own) close()
      },
    }
  }

  /** Ends all watches, and makes the log unreachable until `lost` is undefined again. */
  lose(reason = new SharedLogError("unavailable", "no server answers")): void {
    this.lost = reason
    const watches = [...this.watches]
    this.watches.clear()
    for (const { observer } of watches) observer.ended(reason)
  }

  /** Withholds changes from all watches until the returned function is called. */
  hold(): () => void {
    this.#isHeld = true
    return () => {
      this.#isHeld = false
      this.#send()
    }
  }

  #refuseWhenLost(): void {
    if (this.lost !== undefined) throw this.lost
  }

  #commit(writes: readonly SharedWrite[]): readonly number[] | undefined {
    if (writes.some(({ key, expected }) => (this.entries.get(key)?.revision ?? 0) !== expected)) return undefined
    const revisions = writes.map(({ key, value }) => {
      const revision = ++this.revision
      if (value === undefined) {
        this.entries.delete(key)
        this.changes.push({ key, revision, value })
      } else {
        const entry = { key, revision, created: this.entries.get(key)?.created ?? revision, value }
        this.entries.set(key, entry)
        this.changes.push(entry)
      }
      return revision
    })
    queueMicrotask(() => this.#send())
    return revisions
  }

  #send(): void {
    if (this.#isHeld) return
    for (const watch of this.watches) {
      const { sent } = watch
      watch.sent = this.revision
      watch.observer.advanced(
        this.changes.filter(({ revision }) => revision > sent),
        this.revision,
      )
    }
  }
}
