import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import type { SharedChange, SharedLog } from "../../../../pkg/storage/replicated/shared-log.ts"
import { Keyspace } from "./keyspace.ts"
import type { Links } from "../servers/links.ts"
import { Member, type Group } from "./member.ts"
import type { LogItem } from "./messages.ts"
import { MemberLog } from "./member-log.ts"

export interface ConsensusOptions {
  readonly clock: Clock
  readonly random: Random
  readonly links: Links
  /** The machines with a member each. */
  readonly names: readonly string[]
  /** Told of changes at the instant at which the first member knows that all have agreed on them. */
  readonly agreed: (changes: readonly SharedChange[]) => void
}

/**
 * A simulated log of revisions: a member on each server's machine, which agree as etcd's do. All happens in the time of
 * the clock, so that a seed repeats every election and every lost message.
 */
export class Consensus {
  readonly members: ReadonlyMap<string, Member>
  /** What has been agreed, as somebody knows who sees all members at once. */
  readonly #truth = new Keyspace()
  readonly #agreed: ConsensusOptions["agreed"]
  readonly #group: Group
  readonly #items: LogItem[] = []
  readonly #offLinks: () => void

  constructor({ clock, random, links, names, agreed }: ConsensusOptions) {
    this.#agreed = agreed
    let ids = 0
    this.#group = {
      clock,
      random,
      links,
      names,
      nextId: () => ids++,
      send: (from, to, message) => links.send(from, to, () => this.members.get(to)?.receive(from, message)),
      unsettled: () => links.disturbed || this.#disagree(),
      committed: (index, item) => this.#committed(index, item),
    }
    this.members = new Map(names.map((name) => [name, new Member(name, this.#group)]))
    this.#offLinks = links.onChange(() => this.#wake())
    for (const member of this.members.values()) member.begin(names[0]!)
  }

  /** The member that leads and that a majority follows; undefined while there is none. */
  get leader(): string | undefined {
    const running = [...this.members.values()].filter(({ running }) => running)
    return running.find(
      ({ leads, name }) => leads && running.filter(({ leader }) => leader === name).length * 2 > this.members.size,
    )?.name
  }

  /** Returns the log as the programs on the machine of this member see it. */
  logOf(name: string): SharedLog {
    return new MemberLog(this.members.get(name)!, this.#group)
  }

  /** How many leaders there were after the first. */
  get elections(): number {
    return this.#items.filter(({ proposal }) => proposal === undefined).length - 1
  }

  crash(name: string): void {
    this.members.get(name)!.crash()
    this.#wake()
  }

  restart(name: string): void {
    this.members.get(name)!.restart()
    this.#wake()
  }

  close(): void {
    this.#offLinks()
    for (const member of this.members.values()) member.crash()
  }

  #wake(): void {
    for (const member of this.members.values()) member.wake()
  }

  #disagree(): boolean {
    const members = [...this.members.values()]
    return members.some(
      ({ running, leader, position }) => !running || leader === undefined || position !== members[0]!.position,
    )
  }

  /** @throws Error when two members have committed different items in one place: the simulation itself is wrong */
  #committed(index: number, item: LogItem): void {
    const known = this.#items[index]
    if (known === undefined) {
      this.#items[index] = item
      if (item.proposal === undefined) return
      const before = this.#truth.revision
      this.#truth.apply(item.proposal)
      this.#agreed(this.#truth.changesAfter(before))
    } else if (known !== item) throw new Error(`two members have committed different items at ${index}`)
  }
}
