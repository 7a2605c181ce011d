import type { Timer } from "../../../../pkg/clock/clock.ts"
import {
  SharedLogError,
  type SharedEntry,
  type SharedLog,
  type SharedLogObserver,
  type SharedWrite,
} from "../../../../pkg/storage/replicated/shared-log.ts"
import type { Group, Member } from "./member.ts"

/** The simulated log as the programs on a member's machine see it. */
export class MemberLog implements SharedLog {
  readonly #member: Member
  readonly #group: Group
  readonly #watches = new Set<MemberWatch>()
  #closed = false

  constructor(member: Member, group: Group) {
    this.#member = member
    this.#group = group
  }

  async read(page: (entries: readonly SharedEntry[]) => void): Promise<number> {
    await this.latest()
    const { keys } = this.#member
    page(keys.entries())
    return keys.revision
  }

  watch(after: number, observer: SharedLogObserver): { close(): void } {
    const watch = new MemberWatch(this.#member, this.#group, after, observer)
    this.#watches.add(watch)
    return {
      close: () => {
        watch.close()
        this.#watches.delete(watch)
      },
    }
  }

  async commit(writes: readonly SharedWrite[]): Promise<readonly number[] | undefined> {
    this.#refuseWhenClosed()
    return this.#member.propose({ id: this.#newId(), writes })
  }

  async latest(): Promise<number> {
    this.#refuseWhenClosed()
    await this.#member.catchUp()
    this.#refuseWhenClosed()
    return this.#member.keys.revision
  }

  async compact(revision: number): Promise<void> {
    this.#refuseWhenClosed()
    await this.#member.propose({ id: this.#newId(), compact: revision })
  }

  close(): void {
    this.#closed = true
    for (const watch of this.#watches) watch.close()
    this.#watches.clear()
  }

  #newId(): string {
    return `${this.#member.name} ${this.#group.nextId()}`
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new SharedLogError("unavailable", "Cannot use the log: it has been closed")
  }
}

/** Tells an observer of what the member has applied, a little later. */
class MemberWatch {
  readonly #member: Member
  readonly #group: Group
  readonly #observer: SharedLogObserver
  readonly #off: () => void
  #observed: number
  #timer: Timer | undefined
  #closed = false

  constructor(member: Member, group: Group, after: number, observer: SharedLogObserver) {
    this.#member = member
    this.#group = group
    this.#observer = observer
    this.#observed = after
    this.#off = member.onChange(() => this.#soon())
    this.#soon()
  }

  close(): void {
    this.#closed = true
    this.#off()
    this.#timer?.cancel()
  }

  #soon(): void {
    const { clock, links } = this.#group
    const { name } = this.#member
    this.#timer ??= clock.setTimeout(() => this.#tell(), links.latency(name, name))
  }

  #tell(): void {
    this.#timer = undefined
    const { keys, running } = this.#member
    if (!running) return this.#end("unavailable", "the member was stopped")
    if (this.#observed < keys.compacted)
      return this.#end("compacted", `changes up to revision ${keys.compacted} have been compacted`)
    const changes = keys.changesAfter(this.#observed)
    this.#observed = Math.max(this.#observed, keys.revision)
    this.#observer.advanced(changes, this.#observed)
  }

  #end(code: "unavailable" | "compacted", why: string): void {
    if (this.#closed) return
    this.close()
    this.#observer.ended(new SharedLogError(code, `The watch of the log has ended: ${why}`))
  }
}
