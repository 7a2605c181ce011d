import type { Clock, Timer, TimerKind } from "../clock/clock.ts"

/** Receives what a queue reports, for metrics. */
export interface QueueObserver {
  /** Called when a key was added that was not waiting yet. */
  added(): void
  /** Called when a key was taken, with the time it had waited. */
  taken(milliseconds: number): void
  retried(): void
  /** Called once, with what tells when each key was taken that is being worked on, on the monotonic clock. */
  working?(since: () => Iterable<number>): void
}

/**
 * Keys waiting to be worked on. Source of the semantics: client-go util/workqueue.
 *
 * A key is in one of these states:
 *
 *  - waiting: in `order`, once, however often it was added;
 *  - working: handed out by `take` and not yet `done`; adding it now marks it `again`, so that it waits once more after
 *    `done`;
 *  - delayed: has a timer; adding it at once or earlier replaces the timer.
 *
 * So no key is ever worked on twice at the same time, and no addition is lost. No step here awaits: every method runs
 * to its end before anything else happens.
 */
export class WorkQueue {
  /** When each waiting key was added, on the monotonic clock. */
  private readonly order = new Map<string, number>()
  /** When each key that is worked on was taken, on the monotonic clock. */
  private readonly working = new Map<string, number>()
  private readonly again = new Set<string>()
  private readonly delayed = new Map<string, { readonly timer: Timer; readonly due: number }>()
  private readonly failures = new Map<string, number>()
  private readonly onReady: () => void
  private readonly clock: Clock
  private readonly observer: QueueObserver | undefined
  private stopped = false

  /** `onReady` is called whenever a key may be taken. */
  constructor(clock: Clock, onReady: () => void, observer?: QueueObserver) {
    this.clock = clock
    this.onReady = onReady
    this.observer = observer
    observer?.working?.(() => this.working.values())
  }

  /** The number of keys that could be taken now. */
  get length(): number {
    return this.order.size
  }

  add(key: string): void {
    if (this.stopped) return
    this.undelay(key)
    if (this.working.has(key)) {
      this.again.add(key)
      return
    }
    if (!this.order.has(key)) {
      this.order.set(key, this.clock.monotonic())
      this.observer?.added()
    }
    this.onReady()
  }

  /** Adds the key in `ms` milliseconds; the earliest of several delays counts. */
  addAfter(key: string, ms: number, kind?: TimerKind): void {
    if (this.stopped) return
    if (ms <= 0) return this.add(key)
    const due = this.clock.monotonic() + ms
    const already = this.delayed.get(key)
    if (already !== undefined && already.due <= due) return
    already?.timer.cancel()
    this.delayed.set(key, { due, timer: this.clock.setTimeout(() => this.add(key), ms, kind) })
  }

  /** Adds the key after a delay that doubles with each failure since the last `forget`. */
  retry(key: string): void {
    const failures = this.failures.get(key) ?? 0
    this.failures.set(key, failures + 1)
    this.observer?.retried()
    this.addAfter(key, backoff(failures))
  }

  forget(key: string): void {
    this.failures.delete(key)
  }

  /** Returns whether the key is waiting, being reconciled or delayed. */
  expects(key: string): boolean {
    return this.order.has(key) || this.working.has(key) || this.delayed.has(key)
  }

  /** Returns the next key. It counts as being reconciled until `done`. */
  take(): string | undefined {
    for (const [key, since] of this.order) {
      this.order.delete(key)
      const now = this.clock.monotonic()
      this.working.set(key, now)
      this.observer?.taken(now - since)
      return key
    }
    return undefined
  }

  done(key: string): void {
    this.working.delete(key)
    if (this.again.delete(key)) this.add(key)
  }

  /** Drops all keys, and ignores keys that are added later. */
  stop(): void {
    this.stopped = true
    for (const { timer } of this.delayed.values()) timer.cancel()
    this.delayed.clear()
    this.order.clear()
    this.again.clear()
  }

  private undelay(key: string): void {
    const delayed = this.delayed.get(key)
    if (delayed === undefined) return
    delayed.timer.cancel()
    this.delayed.delete(key)
  }
}

/**
 * Returns the delay after this many failures: 5 ms, doubled with each, at most 1000 s. Source:
 * workqueue.DefaultControllerRateLimiter.
 */
const backoff = (failures: number): number => Math.min(5 * 2 ** failures, 1_000_000)
