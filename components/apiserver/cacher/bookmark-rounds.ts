import type { Clock, Timer } from "../../../pkg/clock/clock.ts"

interface Round<W> {
  readonly watchers: Set<W>
  timer: Timer
}

/** Sends bookmarks. Watchers with the same interval share one timer; without watchers there is no timer. */
export class BookmarkRounds<W> {
  readonly #clock: Clock
  readonly #notify: (watchers: Iterable<W>) => void
  readonly #rounds = new Map<number, Round<W>>()

  constructor(clock: Clock, tell: (watchers: Iterable<W>) => void) {
    this.#clock = clock
    this.#notify = tell
  }

  add(watcher: W, everyMs: number): void {
    const round = this.#rounds.get(everyMs)
    if (round === undefined) this.#rounds.set(everyMs, this.#newRound(watcher, everyMs))
    else round.watchers.add(watcher)
  }

  remove(watcher: W, everyMs: number): void {
    const round = this.#rounds.get(everyMs)
    if (round === undefined || !round.watchers.delete(watcher) || round.watchers.size > 0) return
    round.timer.cancel()
    this.#rounds.delete(everyMs)
  }

  #newRound(first: W, everyMs: number): Round<W> {
    const watchers = new Set([first])
    const arm = () =>
      this.#clock.setTimeout(
        () => {
          round.timer = arm()
          this.#notify(watchers)
        },
        everyMs,
        "upkeep",
      )
    const round: Round<W> = { watchers, timer: arm() }
    return round
  }
}
