/** What is remembered from one run of the program to the next about items that may end it, and what follows from it. */
import type { Item } from "./in-hand.ts"

/** An item that is not worked on any more. */
export interface SetAside extends Item {
  /** RFC 3339. */
  readonly since: string
  readonly why: string
  /** The object as it was when it was first skipped; another one is worked on again. */
  readonly seen?: string
}

/** An item that kept everything else waiting. */
export interface SlowItem extends Item {
  /** When, as RFC 3339. Records of older versions have none. */
  readonly at?: string
}

export interface QuarantineRecord {
  /** Whether a process runs with this record, or has ended without a word. */
  readonly running: boolean
  /** The boot of the machine in which it runs, as the kernel names it. */
  readonly boot: string
  /** Whether that process has run for a minute. */
  readonly settled: boolean
  /** How many starts in a row have ended within a minute while something was in hand. */
  readonly failedStarts: number
  /** Items that were in hand when the process ended, and have not been tried alone since. */
  readonly suspects: readonly Item[]
  /** Items that kept everything else waiting for seconds, once within `SLOW_REMEMBERED_MS`. */
  readonly slow: readonly SlowItem[]
  /** Those that did so twice. */
  readonly tooSlow: readonly Item[]
  readonly setAside: readonly SetAside[]
}

export const NOTHING_RECORDED: QuarantineRecord = {
  running: false,
  boot: "",
  settled: false,
  failedStarts: 0,
  suspects: [],
  slow: [],
  tooSlow: [],
  setAside: [],
}

/** Most suspects, and most slow items, that are remembered; the oldest are forgotten. Their objects may be gone. */
export const MOST_REMEMBERED = 256
/** A slow step is forgotten after a day: two that lie further apart were a matter of the machine. */
export const SLOW_REMEMBERED_MS = 24 * 3600 * 1000

/** After so many failed starts in a row the controllers of the next one begin late. */
export const MOST_FAILED_STARTS = 3
/** How late: time to delete or edit what ends the server. */
export const CONTROLLERS_OFF_MS = 120_000

/** Returns the slow items that are still remembered. */
export const stillSlow = (slow: readonly SlowItem[], now: number): readonly SlowItem[] =>
  slow.filter(({ at }) => at !== undefined && now - Date.parse(at) < SLOW_REMEMBERED_MS)

export const sameItem = (a: Item, b: Item): boolean => a.place === b.place && a.key === b.key
export const hasItem = (items: readonly Item[], item: Item): boolean => items.some((one) => sameItem(one, item))
export const without = <T extends Item>(items: readonly T[], item: Item): readonly T[] =>
  items.filter((one) => !sameItem(one, item))

/**
 * Returns the record of a start. What was in hand when the process ended is suspected; a suspect that was in hand again
 * is set aside, and so is what kept everything waiting twice. Nothing is suspected after the machine has booted again:
 * its power was lost.
 * @param left what was in hand
 */
export function recordOfStart(
  before: QuarantineRecord,
  left: readonly Item[],
  { now, boot }: { readonly now: string; readonly boot: string },
): QuarantineRecord {
  const ended = before.running && before.boot === boot ? left : []
  const asides = (items: readonly Item[], why: string): readonly SetAside[] =>
    items.map(({ place, key }) => ({ place, key, since: now, why }))
  const again = ended.filter((item) => hasItem(before.suspects, item))
  const setAside = [
    ...before.setAside,
    ...asides(again, "the process ended twice while it was worked on"),
    ...asides(before.tooSlow, "it kept everything else waiting for seconds, twice"),
  ]
  const isNew = (item: Item) => !hasItem(setAside, item)
  return {
    running: true,
    boot,
    settled: false,
    failedStarts: before.running && !before.settled && ended.length > 0 ? before.failedStarts + 1 : 0,
    suspects: [...ended, ...before.suspects.filter((item) => !hasItem(ended, item))]
      .filter(isNew)
      .slice(0, MOST_REMEMBERED),
    slow: stillSlow(before.slow, Date.parse(now)).filter(isNew),
    tooSlow: [],
    setAside,
  }
}
