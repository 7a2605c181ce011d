/**
 * One member of a simulated log: Raft over `Links`, in virtual time. It does nothing by itself while the network is
 * whole and all members agree; then no timer is set, so that quiet days cost nothing.
 *
 * Kept through a crash: term, vote, items and the applied keys. Lost: the role, and what waits for an answer.
 */
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import { Keyspace, type Proposal } from "./keyspace.ts"
import type { Links } from "../servers/links.ts"
import type { LogItem, Message } from "./messages.ts"
import { Requests } from "./requests.ts"

/** Source: etcd's defaults of --heartbeat-interval and --election-timeout. */
const HEARTBEAT_MS = 100
const ELECTION_MS = 1000

export interface Group {
  readonly clock: Clock
  readonly random: Random
  readonly links: Links
  readonly names: readonly string[]
  /** Returns a number that differs at each call. */
  nextId(): number
  /** Delivers a message, some time later or never. */
  send(from: string, to: string, message: Message): void
  /** Whether an election or a heartbeat may be needed. */
  unsettled(): boolean
  /** Called for each item that a member knows to be committed, with the number of items before it. */
  committed(index: number, item: LogItem): void
}

interface Follower {
  /** The number of items that were sent. */
  sent: number
  /** The number of items that the follower is known to have. */
  matched: number
  /** The last broadcast that the follower has answered. */
  round: number
}

interface PendingRead {
  readonly from: string
  readonly id: string
  readonly length: number
  readonly round: number
}

export class Member {
  readonly name: string
  readonly keys = new Keyspace()
  readonly requests: Requests
  readonly #group: Group
  #running = true
  #term = 1
  #vote: string | undefined
  #items: LogItem[] = []
  #role: "follower" | "candidate" | "leader" = "follower"
  #leader: string | undefined
  #committed = 0
  #applied = 0
  #votes = new Set<string>()
  #followers = new Map<string, Follower>()
  #reads: PendingRead[] = []
  #round = 0
  #broadcasting = false
  #timer: Timer | undefined
  #patience = 0
  #heard = 0
  readonly #listeners = new Set<() => void>()

  constructor(name: string, group: Group) {
    this.name = name
    this.#group = group
    this.requests = new Requests(group.clock)
  }

  get running(): boolean {
    return this.#running
  }
  /** The member that leads in this member's term, as far as it knows. */
  get leader(): string | undefined {
    return this.#leader
  }
  get leads(): boolean {
    return this.#role === "leader"
  }
  /** What settled members have in common. */
  get position(): string {
    return `${this.#term} ${this.#leader} ${this.#items.length} ${this.#committed}`
  }

  /** Makes the member lead from the beginning, or follow `leader`: a new group need not vote. */
  begin(leader: string): void {
    this.#vote = leader
    if (leader === this.name) this.#lead()
    else this.#leader = leader
  }

  crash(): void {
    this.#running = false
    this.#timer?.cancel()
    this.#timer = undefined
    this.#role = "follower"
    this.#leader = undefined
    this.requests.loseAll("the member was stopped")
    this.#changed()
  }

  restart(): void {
    this.#running = true
    this.#heardLeader()
    this.wake()
  }

  /** Begins to send heartbeats, or to wait for them, if that is needed. */
  wake(): void {
    if (this.#timer !== undefined || !this.#running) return
    this.#heardLeader()
    this.#timer = this.#group.clock.setTimeout(() => this.#tick(), HEARTBEAT_MS)
  }

  /** Calls `listener` whenever items have been applied, and when the member crashes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Resolves to what applying the proposal gave. @throws SharedLogError unknown or unavailable */
  propose(proposal: Proposal): Promise<readonly number[] | undefined> {
    const { answer, id } = this.requests.open<readonly number[] | undefined>("unknown", proposal.id)
    this.#toLeader(id, { is: "propose", proposal })
    return answer
  }

  /** Resolves when this member has applied all that was committed before the call. @throws SharedLogError unavailable */
  catchUp(): Promise<void> {
    const { answer, id } = this.requests.open<undefined>("unavailable")
    this.#toLeader(id, { is: "askRead", id })
    return answer
  }

  receive(from: string, message: Message): void {
    if (!this.#running) return
    if ("term" in message && message.term > this.#term) this.#follow(message.term, undefined)
    switch (message.is) {
      case "vote":
        return this.#askedForVote(from, message)
      case "voted":
        return this.#voted(from, message)
      case "append":
        return this.#append(from, message)
      case "appended":
        return this.#appended(from, message)
      case "propose":
        return this.#proposed(from, message.proposal)
      case "askRead":
        return this.#askedToRead(from, message.id)
      case "readAt":
        return this.#readAt(message.id, message.length)
      case "refused":
        return this.requests.fail(message.id, "unavailable", "the member that was asked does not lead")
    }
  }

  get #majority(): number {
    return Math.floor(this.#group.names.length / 2) + 1
  }
  get #others(): readonly string[] {
    return this.#group.names.filter((name) => name !== this.name)
  }
  get #lastTerm(): number {
    return this.#items.at(-1)?.term ?? 0
  }

  #toLeader(id: string, message: Message): void {
    if (!this.#running || this.#leader === undefined)
      this.requests.fail(id, "unavailable", "the log has no leader that this member knows")
    else this.#group.send(this.name, this.#leader, message)
  }

  #tick(): void {
    const { clock, unsettled } = this.#group
    this.#timer = undefined
    if (this.#role === "leader") this.#broadcast()
    else if (clock.monotonic() - this.#heard >= this.#patience) this.#stand()
    // A candidate has set it already.
    if (unsettled()) this.#timer ??= clock.setTimeout(() => this.#tick(), HEARTBEAT_MS)
  }

  #heardLeader(): void {
    this.#heard = this.#group.clock.monotonic()
    this.#patience = ELECTION_MS * (1 + this.#group.random.next())
  }

  #stand(): void {
    this.#follow(this.#term + 1, undefined)
    this.#role = "candidate"
    this.#vote = this.name
    this.#votes = new Set([this.name])
    const ask: Message = {
      is: "vote",
      term: this.#term,
      lastIndex: this.#items.length,
      lastTerm: this.#lastTerm,
    }
    for (const other of this.#others) this.#group.send(this.name, other, ask)
    if (this.#votes.size >= this.#majority) this.#lead()
  }

  #follow(term: number, leader: string | undefined): void {
    if (term > this.#term) this.#vote = undefined
    // What waits for the old leader may never be answered, and may still happen.
    if (leader !== this.#leader || term !== this.#term) this.requests.loseAll("the leader has changed")
    this.#term = term
    this.#role = "follower"
    this.#leader = leader
    this.#reads = []
    this.#heardLeader()
    this.wake()
  }

  #lead(): void {
    this.#role = "leader"
    this.#leader = this.name
    this.#followers = new Map(this.#others.map((name) => [name, { sent: this.#items.length, matched: 0, round: 0 }]))
    this.#items.push({ term: this.#term, proposal: undefined })
    this.#advanceCommit()
    this.#broadcast()
  }

  #askedForVote(from: string, { term, lastIndex, lastTerm }: Extract<Message, { is: "vote" }>): void {
    const isComplete = lastTerm > this.#lastTerm || (lastTerm === this.#lastTerm && lastIndex >= this.#items.length)
    const granted = term === this.#term && isComplete && (this.#vote === undefined || this.#vote === from)
    if (granted) {
      this.#vote = from
      this.#heardLeader()
    }
    this.#group.send(this.name, from, { is: "voted", term: this.#term, granted })
  }

  #voted(from: string, { term, granted }: Extract<Message, { is: "voted" }>): void {
    if (this.#role !== "candidate" || term !== this.#term || !granted) return
    if (this.#votes.add(from).size >= this.#majority) this.#lead()
  }

  /** Sends new items, and how many are committed, at the end of this turn. */
  #broadcast(): void {
    if (this.#broadcasting) return
    this.#broadcasting = true
    this.#group.clock.afterTurn(() => {
      this.#broadcasting = false
      if (this.#role !== "leader" || !this.#running) return
      this.#round++
      for (const [name, follower] of this.#followers) this.#sendTo(name, follower)
      this.#answerReads()
    })
  }

  #sendTo(name: string, follower: Follower): void {
    const before = follower.sent
    this.#group.send(this.name, name, {
      is: "append",
      term: this.#term,
      before,
      beforeTerm: this.#items[before - 1]?.term ?? 0,
      items: this.#items.slice(before),
      commit: this.#committed,
      round: this.#round,
    })
    follower.sent = this.#items.length
  }

  #append(from: string, message: Extract<Message, { is: "append" }>): void {
    const { term, before, beforeTerm, items, commit, round } = message
    const answer = (ok: boolean, length: number) =>
      this.#group.send(this.name, from, { is: "appended", term: this.#term, ok, length, round })
    if (term < this.#term) return answer(false, 0)
    if (this.#leader !== from || this.#role !== "follower") this.#follow(term, from)
    this.#heardLeader()
    if (before > this.#items.length) return answer(false, this.#items.length)
    if ((this.#items[before - 1]?.term ?? 0) !== beforeTerm) return answer(false, before - 1)
    items.forEach((item, i) => {
      const at = before + i
      if (this.#items[at]?.term === item.term) return
      this.#items.length = at
      this.#items.push(item)
    })
    const agreed = before + items.length
    this.#commitTo(Math.min(commit, agreed))
    answer(true, agreed)
  }

  #appended(from: string, { term, ok, length, round }: Extract<Message, { is: "appended" }>): void {
    const follower = this.#followers.get(from)
    if (this.#role !== "leader" || term !== this.#term || follower === undefined) return
    follower.round = Math.max(follower.round, round)
    if (ok) {
      follower.matched = Math.max(follower.matched, length)
      this.#advanceCommit()
    } else if (length < follower.sent) {
      follower.sent = Math.max(follower.matched, length)
      this.#sendTo(from, follower)
    }
    this.#answerReads()
  }

  /** Commits what a majority has, if an item of this term is among it. */
  #advanceCommit(): void {
    const lengths = [this.#items.length, ...[...this.#followers.values()].map(({ matched }) => matched)]
    const shared = lengths.sort((a, b) => b - a)[this.#majority - 1]!
    if (shared <= this.#committed || this.#items[shared - 1]!.term !== this.#term) return
    this.#commitTo(shared)
    this.#broadcast()
  }

  #commitTo(length: number): void {
    if (length <= this.#committed) return
    this.#committed = length
    for (; this.#applied < length; this.#applied++) {
      const item = this.#items[this.#applied]!
      this.#group.committed(this.#applied, item)
      if (item.proposal === undefined) continue
      this.requests.answer(item.proposal.id, this.keys.apply(item.proposal))
    }
    this.requests.reached(length)
    this.#changed()
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }

  #proposed(from: string, proposal: Proposal): void {
    if (this.#role !== "leader") return this.#group.send(this.name, from, { is: "refused", id: proposal.id })
    this.#items.push({ term: this.#term, proposal })
    this.#advanceCommit()
    this.#broadcast()
  }

  #askedToRead(from: string, id: string): void {
    if (this.#role !== "leader") return this.#group.send(this.name, from, { is: "refused", id })
    // The commit of an item of its own term tells a leader what is committed at all.
    const first = this.#items.findLastIndex((item) => item.term !== this.#term) + 2
    this.#reads.push({ from, id, length: Math.max(this.#committed, first), round: this.#round + 1 })
    this.#broadcast()
  }

  /** Answers the reads for which a majority has confirmed this leader. */
  #answerReads(): void {
    const rounds = [this.#round, ...[...this.#followers.values()].map(({ round }) => round)]
    const confirmed = rounds.sort((a, b) => b - a)[this.#majority - 1]!
    const ready = this.#reads.filter(({ round }) => round <= confirmed)
    this.#reads = this.#reads.filter(({ round }) => round > confirmed)
    for (const { from, id, length } of ready) this.#group.send(this.name, from, { is: "readAt", id, length })
  }

  #readAt(id: string, length: number): void {
    this.requests.answerAt(id, length, this.#applied)
  }
}
