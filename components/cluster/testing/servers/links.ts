import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"

/** How long a message takes between two machines, and between two programs of one machine, in milliseconds. */
const LATENCY_MS = 1
const LOCAL_LATENCY_MS = 0
/** A message takes up to this part of the latency longer, at random. */
const JITTER = 0.5

/**
 * The network between simulated machines. It loses what is sent between machines that a fault keeps apart, also what is
 * under way when the fault begins, and it may deliver messages in another order than that of their sending.
 */
export class Links {
  readonly #clock: Clock
  readonly #random: Random
  /** How many faults keep two machines apart, by their pair. */
  readonly #cuts = new Map<string, number>()
  /** Latencies that were set, in milliseconds, by pair. */
  readonly #latencies = new Map<string, number>()
  /** How many faults keep a machine from all others, by its name. */
  readonly #down = new Map<string, number>()
  readonly #underWay = new Set<Timer>()
  readonly #listeners = new Set<() => void>()
  #lossRate = 0

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** Whether messages between some machines are lost. */
  get disturbed(): boolean {
    return this.#cuts.size > 0 || this.#down.size > 0 || this.#lossRate > 0
  }

  isOpen(a: string, b: string): boolean {
    return !this.#cuts.has(pair(a, b)) && !this.#down.has(a) && !this.#down.has(b)
  }

  /** Calls `deliver` after the latency, unless the message is lost. */
  send(from: string, to: string, deliver: () => void): void {
    const isLost = this.#lossRate > 0 && from !== to && this.#random.next() < this.#lossRate
    if (isLost || !this.isOpen(from, to)) return
    const arrive = () => {
      this.#underWay.delete(timer)
      if (this.isOpen(from, to)) deliver()
    }
    const timer = this.#clock.setTimeout(arrive, this.latency(from, to))
    this.#underWay.add(timer)
  }

  /** Returns how long one message takes, in milliseconds; drawn anew at each call. */
  latency(from: string, to: string): number {
    const base = this.#latencies.get(pair(from, to)) ?? (from === to ? LOCAL_LATENCY_MS : LATENCY_MS)
    return base * (1 + this.#random.next() * JITTER)
  }

  /** Keeps two machines apart until the returned function is called. */
  cut(a: string, b: string): () => void {
    return this.#hold(this.#cuts, pair(a, b))
  }

  /** Keeps a machine from all others, and its programs from each other, until the returned function is called. */
  isolate(machine: string): () => void {
    return this.#hold(this.#down, machine)
  }

  /** Sets the latency between two machines, in milliseconds, until the returned function is called. */
  delay(a: string, b: string, ms: number): () => void {
    const key = pair(a, b)
    const before = this.#latencies.get(key)
    this.#latencies.set(key, ms)
    this.#changed()
    return () => {
      if (before === undefined) this.#latencies.delete(key)
      else this.#latencies.set(key, before)
      this.#changed()
    }
  }

  /** Loses this part of all messages between machines, until the returned function is called. */
  lose(rate: number): () => void {
    this.#lossRate += rate
    this.#changed()
    return () => {
      this.#lossRate = Math.max(0, this.#lossRate - rate)
      this.#changed()
    }
  }

  /** Calls `listener` at each change of what the network does. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Drops what is under way. */
  close(): void {
    for (const timer of this.#underWay) timer.cancel()
    this.#underWay.clear()
    this.#listeners.clear()
  }

  #hold(counts: Map<string, number>, key: string): () => void {
    counts.set(key, (counts.get(key) ?? 0) + 1)
    this.#changed()
    return () => {
      const left = counts.get(key)! - 1
      if (left === 0) counts.delete(key)
      else counts.set(key, left)
      this.#changed()
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}

const pair = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`)
