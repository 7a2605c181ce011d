import { formatDuration } from "../apimachinery/time.ts"
import { sleep, type Clock } from "../clock/clock.ts"
import type { VirtualClock } from "../clock/virtual.ts"
import type { MemoryStorage } from "../storage/memory.ts"
import { TestClusterError } from "./caller.ts"
import { milliseconds, type Duration } from "./duration.ts"
import { replay } from "./seed.ts"

/** Holds when it neither throws nor gives false. */
export type Check<T> = () => T | Promise<T>

export interface EventuallyOptions {
  /** How long to wait, in the cluster's time; 60s unless given. */
  readonly within?: Duration
}

export interface Waiting {
  readonly clock: Clock
  readonly virtual: VirtualClock | undefined
  readonly storage: MemoryStorage
  readonly seed: number
}

/** With the real clock the check is repeated when something was written, and at least this often. */
const LOOK_MS = 100

/** Waits until `check` holds. @throws TestClusterError that says what was last seen */
export async function eventually<T>(
  check: Check<T>,
  { clock, virtual, storage, seed }: Waiting,
  { within = "60s" }: EventuallyOptions = {},
): Promise<T> {
  const began = clock.now()
  const deadline = began + milliseconds(within)
  for (;;) {
    await virtual?.settle()
    const seen = await outcome(check)
    if ("value" in seen) return seen.value
    const due = virtual === undefined ? clock.now() : (virtual.nextDue ?? Infinity)
    if (due > deadline || clock.now() >= deadline) {
      throw new TestClusterError(
        `Not within ${formatDuration(deadline - began)} of ${virtual === undefined ? "" : "virtual "}time (${replay(seed)}); last seen: ${seen.why}`,
        { cause: seen.cause },
      )
    }
    if (virtual === undefined) await change(clock, storage)
    else await virtual.advanceTo(due)
  }
}

type Outcome<T> = { readonly value: T } | { readonly why: string; readonly cause?: unknown }

async function outcome<T>(check: Check<T>): Promise<Outcome<T>> {
  try {
    const value = await check()
    return value === false ? { why: "the check gave false" } : { value }
  } catch (err) {
    return { why: err instanceof Error ? err.message : String(err), cause: err }
  }
}

/** Resolves at the next write, or a little later. */
async function change(clock: Clock, storage: MemoryStorage): Promise<void> {
  const written = new AbortController()
  const off = storage.subscribe(() => written.abort())
  await sleep(clock, LOOK_MS, written.signal).catch(() => undefined)
  off()
}
