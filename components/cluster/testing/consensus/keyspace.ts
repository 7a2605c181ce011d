import type { SharedChange, SharedEntry, SharedWrite } from "../../../../pkg/storage/replicated/shared-log.ts"

/** What the members of a simulated log agree on, one after another. */
export type Proposal =
  | { readonly id: string; readonly writes: readonly SharedWrite[] }
  | { readonly id: string; readonly compact: number }

/**
 * The keys of a simulated log as one of its members has them. Members that apply the same proposals in the same order
 * have the same keys and revisions.
 */
export class Keyspace {
  readonly #entries = new Map<string, SharedEntry>()
  /** The changes after `compacted`, in the order of their revisions. */
  #changes: SharedChange[] = []
  #revision = 0
  #compacted = 0

  get revision(): number {
    return this.#revision
  }
  get compacted(): number {
    return this.#compacted
  }

  /** Applies a proposal. Returns the revisions of its writes; undefined when a key was at another revision. */
  apply(proposal: Proposal): readonly number[] | undefined {
    if ("compact" in proposal) {
      this.#compacted = Math.max(this.#compacted, Math.min(proposal.compact, this.#revision))
      this.#changes = this.#changes.filter(({ revision }) => revision > this.#compacted)
      return []
    }
    const { writes } = proposal
    if (writes.some(({ key, expected }) => (this.#entries.get(key)?.revision ?? 0) !== expected)) return undefined
    return writes.map(({ key, value }) => {
      const revision = ++this.#revision
      if (value === undefined) this.#entries.delete(key)
      else this.#entries.set(key, { key, revision, created: this.#entries.get(key)?.created ?? revision, value })
      this.#changes.push(this.#entries.get(key) ?? { key, revision, value: undefined })
      return revision
    })
  }

  /** Returns all entries in the order of their keys. */
  entries(): readonly SharedEntry[] {
    return [...this.#entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** Returns the changes after `revision`, which must not be compacted, in their order. */
  changesAfter(revision: number): readonly SharedChange[] {
    const first = this.#changes.length - (this.#revision - Math.max(revision, this.#compacted))
    return this.#changes.slice(Math.max(0, first))
  }
}
