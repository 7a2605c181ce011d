/**
 * Poison is set aside: an item that has ended the process twice, or kept everything waiting for seconds twice, is
 * skipped from the next start on, until its object changes or an administrator frees it. See docs/troubleshooting.md.
 *
 * Several items are in hand when a process ends, and only one is to blame: the one whose work ran, which is known
 * unless a continuation of work that had waited ran. So at the next start each that may be to blame is held back, and
 * tried alone when the others have had their turn.
 */
import type { Clock, Timer } from "../clock/clock.ts"
import type { Logger } from "../log/log.ts"
import { InHand, type Item } from "./in-hand.ts"
import {
  hasItem,
  MOST_FAILED_STARTS,
  MOST_REMEMBERED,
  recordOfStart,
  sameItem,
  stillSlow,
  without,
  type QuarantineRecord,
  type SetAside,
} from "./record.ts"

/** What to do with an item: work on it, come back in `WAIT_MS`, or skip it. */
export type Fate = "go" | "wait" | "skip"

export const WAIT_MS = 250
/** Suspects are tried after this time, when a start has done most of its work. */
const FIRST_TRIAL_MS = 2000
/** A suspect that has worked for so long without harm is none any more. */
const TRIAL_MS = 5000
/** A start has succeeded after this time. */
const SETTLED_MS = 60_000
/** A step that keeps everything else waiting for so long is remembered. */
const SLOW_MS = 2000

export interface QuarantineOptions {
  /** Memory that outlives the process; `left` is what it said before. */
  readonly page: Uint8Array
  readonly before: QuarantineRecord
  /** The boot of the machine, as the kernel names it. */
  readonly boot: string
  readonly save: (record: QuarantineRecord) => void
  readonly clock: Clock
  readonly log: Logger
}

export class Quarantine {
  readonly #options: QuarantineOptions
  readonly #inHand: InHand
  readonly #places = new Map<string, QuarantinePlace>()
  readonly #from: number
  #record: QuarantineRecord
  #trial: Item | undefined
  #timers: Timer[] = []
  readonly #onFreed = new Set<(item: Item) => void>()
  /** Changes with each item that is held back or set aside, or no longer. */
  generation = 0

  constructor(options: QuarantineOptions) {
    const { page, before, boot, clock, log } = options
    this.#options = options
    this.#from = clock.monotonic()
    this.#record = recordOfStart(before, InHand.left(page), { now: new Date(clock.now()).toISOString(), boot })
    this.#inHand = new InHand(page)
    this.#save()
    for (const { place, key } of this.#record.suspects)
      log.warn("The last run ended while this was worked on: it is tried alone, after everything else", { place, key })
    for (const { place, key, why } of this.#record.setAside)
      log.error("Skipping what has been set aside; edit the object, or run k3ts quarantine free", { place, key, why })
    this.#timers.push(clock.setTimeout(() => this.#change({ settled: true, failedStarts: 0 }), SETTLED_MS, "upkeep"))
  }

  /** What is set aside. */
  get setAside(): readonly SetAside[] {
    return this.#record.setAside
  }

  /** How many starts in a row have failed, where these are so many that the controllers begin late in this run. */
  get failedStarts(): number | undefined {
    const { failedStarts } = this.#record
    return failedStarts >= MOST_FAILED_STARTS ? failedStarts : undefined
  }

  /** Returns the place of a part of the program, by which it notes what it works on. */
  place(name: string): QuarantinePlace {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const made = new QuarantinePlace(name, this, this.#inHand, this.#options.clock)
    this.#places.set(name, made)
    return made
  }

  /** Takes over what an administrator has freed in the file. */
  reread(file: QuarantineRecord): void {
    for (const item of this.#record.setAside) {
      if (hasItem(file.setAside, item)) continue
      this.#free(item, "an administrator")
      for (const listener of this.#onFreed) listener(item)
    }
  }

  /** Calls `freed` for each item that an administrator frees. An edit is seen by whoever watches the object. */
  onFreed(freed: (item: Item) => void): () => void {
    this.#onFreed.add(freed)
    return () => void this.#onFreed.delete(freed)
  }

  /** Records that the process ends in order. */
  end(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#change({ running: false, failedStarts: 0 })
  }

  /** Whether anything of a place is held back or set aside. */
  concerns(place: string): boolean {
    const isHere = (item: Item) => item.place === place
    return this.#record.suspects.some(isHere) || this.#record.setAside.some(isHere)
  }

  fate(item: Item, seen: () => string | undefined): Fate {
    const aside = this.#record.setAside.find((one) => sameItem(one, item))
    if (aside !== undefined) return this.#isChanged(aside, seen()) ? "go" : "skip"
    if (!hasItem(this.#record.suspects, item)) return "go"
    const { clock } = this.#options
    if (clock.monotonic() < this.#from + FIRST_TRIAL_MS) return "wait"
    if (this.#trial === undefined) {
      this.#trial = item
      this.#timers.push(clock.setTimeout(() => this.acquit(item), TRIAL_MS, "upkeep"))
    }
    return sameItem(this.#trial, item) ? "go" : "wait"
  }

  /** Called when an item has been worked on without harm. */
  acquit(item: Item): void {
    if (this.#trial !== undefined && sameItem(this.#trial, item)) this.#trial = undefined
    if (hasItem(this.#record.suspects, item)) this.#change({ suspects: without(this.#record.suspects, item) })
  }

  /** Called when an item has kept everything else waiting. */
  slow(item: Item, ms: number): void {
    if (ms < SLOW_MS) return
    const { clock, log } = this.#options
    const now = clock.now()
    const { tooSlow } = this.#record
    const slow = stillSlow(this.#record.slow, now)
    log.warn("Everything else waited for one step", { ...item, ms: Math.round(ms) })
    if (!hasItem(slow, item))
      this.#change({ slow: [...slow, { ...item, at: new Date(now).toISOString() }].slice(-MOST_REMEMBERED) })
    else if (!hasItem(tooSlow, item)) this.#change({ tooSlow: [...tooSlow, item] })
  }

  #isChanged(aside: SetAside, seen: string | undefined): boolean {
    if (seen !== undefined && (aside.seen === undefined || aside.seen === seen)) {
      if (aside.seen === undefined)
        this.#change({ setAside: this.#record.setAside.map((one) => (one === aside ? { ...one, seen } : one)) })
      return false
    }
    this.#free(aside, seen === undefined ? "its object is gone" : "its object has changed")
    return true
  }

  #free(item: Item, why: string): void {
    const { place, key } = item
    this.#options.log.info("Working again on what was set aside", { place, key, why })
    const { setAside, slow } = this.#record
    this.#change({ setAside: without(setAside, item), slow: without(slow, item) })
  }

  #change(some: Partial<QuarantineRecord>): void {
    this.#record = { ...this.#record, ...some }
    this.generation++
    this.#save()
  }

  #save(): void {
    try {
      this.#options.save(this.#record)
    } catch (err) {
      this.#options.log.warn("Failed to write what is set aside", { err })
    }
  }
}

/** A part of the program that works on one item after another, or on several at once. */
export class QuarantinePlace {
  readonly #name: string
  readonly #quarantine: Quarantine
  readonly #inHand: InHand
  readonly #clock: Clock
  #generation = -1
  #isClear = true

  constructor(name: string, quarantine: Quarantine, inHand: InHand, clock: Clock) {
    this.#name = name
    this.#quarantine = quarantine
    this.#inHand = inHand
    this.#clock = clock
  }

  /** Says what to do with an item. `seen` returns what changes with an edit of its object; undefined: it is gone. */
  fate(key: string, seen: () => string | undefined): Fate {
    const { generation } = this.#quarantine
    if (generation !== this.#generation) {
      this.#generation = generation
      this.#isClear = !this.#quarantine.concerns(this.#name)
    }
    return this.#isClear ? "go" : this.#quarantine.fate({ place: this.#name, key }, seen)
  }

  /** Notes an item while `work` runs; the time until `work` first waits is measured. */
  async during<T>(key: string, work: () => Promise<T>): Promise<T> {
    const slot = this.#inHand.begin(this.#name, key)
    const from = this.#clock.monotonic()
    try {
      const going = work()
      this.#measure(key, from)
      this.#inHand.waits(slot)
      return await going
    } finally {
      this.#end(slot, key)
    }
  }

  /** The same for work that does not wait. */
  while<T>(key: string, work: () => T): T {
    const slot = this.#inHand.begin(this.#name, key)
    const from = this.#clock.monotonic()
    try {
      return work()
    } finally {
      this.#measure(key, from)
      this.#end(slot, key)
    }
  }

  /**
   * The same for one of many pieces of work of an item, of which any may be the one that does harm: that it has ended
   * well says nothing about the item.
   */
  among<T>(key: string, work: () => T): T {
    const slot = this.#inHand.begin(this.#name, key)
    const from = this.#clock.monotonic()
    try {
      return work()
    } finally {
      this.#measure(key, from)
      this.#inHand.end(slot)
    }
  }

  /**
   * The same for work in steps, between which other work runs: the item is noted during each step, and has done no harm
   * when the last one has ended.
   */
  *steps<T>(key: string, steps: Iterator<void, T>): Generator<void, T> {
    try {
      for (;;) {
        const slot = this.#inHand.begin(this.#name, key)
        const from = this.#clock.monotonic()
        let step: IteratorResult<void, T>
        try {
          step = steps.next()
        } finally {
          this.#measure(key, from)
          this.#inHand.end(slot)
        }
        if (step.done === true) return step.value
        yield
      }
    } finally {
      if (!this.#isClear) this.#quarantine.acquit({ place: this.#name, key })
    }
  }

  #measure(key: string, from: number): void {
    const ms = this.#clock.monotonic() - from
    if (ms >= SLOW_MS) this.#quarantine.slow({ place: this.#name, key }, ms)
  }

  #end(slot: number, key: string): void {
    this.#inHand.end(slot)
    if (!this.#isClear) this.#quarantine.acquit({ place: this.#name, key })
  }
}
