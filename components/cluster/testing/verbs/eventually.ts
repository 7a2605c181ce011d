import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { formatDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { TestClusterError } from "../caller.ts"
import type { Driver } from "../time/driver.ts"
import type { LastSeen } from "../history/last-seen.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import { replay } from "../options/seed.ts"

/** Returns true or false, or asserts something (`expect`, `assert`) and does not throw. */
export type Check = () => boolean | void | Promise<boolean | void>

export interface EventuallyOptions {
  /** How long to wait, in the cluster's time; 60s by default. */
  readonly within?: Duration
}

export interface Waiting {
  readonly clock: Clock
  readonly driver: Driver
  readonly storage: MemoryStorage
  readonly seed: number
  /** Records what the test reads. */
  readonly seen: LastSeen
  /** Returns why a pod is not running; empty when it cannot say. */
  readonly inWords: (pod: Pod) => readonly string[]
  /** Returns the last errors of the test's own controllers, in lines. */
  readonly ownErrors: () => readonly string[]
}

/** On the real clock the check is repeated after each write, and at least this often. */
const LOOK_MS = 100

/**
 * Waits until `check` holds. @throws TestClusterError with what was last seen; at once for a check that returns
 * something else
 */
export async function eventually(
  check: Check,
  { clock, driver, storage, seed, seen: lastSeen, inWords, ownErrors }: Waiting,
  { within = "60s" }: EventuallyOptions = {},
  /** The test's own function, when `check` only calls it. */
  written: (...args: never[]) => unknown = check,
): Promise<void> {
  const began = clock.now()
  const deadline = began + milliseconds(within)
  let asserts = isAssertion(written)
  for (;;) {
    await driver.move((virtual) => virtual.settle())
    lastSeen.begin()
    const seen = await driver.ended(
      () => "the check of `eventually` waits for something",
      outcome(check, asserts),
      true,
    )
    if (seen === undefined) return
    asserts ||= seen.cause !== undefined
    if (clock.now() >= deadline)
      throw new TestClusterError(
        [
          `Not within ${formatDuration(deadline - began)} of ${driver.isVirtual ? "virtual " : ""}time ` +
            `(${replay(seed)}); last seen: ${seen.why}`,
          ...lastSeen.inWords(inWords),
          ...ownErrors().map((line) => line.replaceAll("\n", "\n  ")),
        ].join("\n  "),
        { cause: seen.cause, reason: "Timeout" },
      )
    if (driver.isVirtual)
      await driver.move((virtual) => virtual.advanceTo(Math.min(virtual.nextDue ?? Infinity, deadline)))
    else await change(clock, storage)
  }
}

/** Waits until `check` holds for what `list` returns. Returns the list. @throws TestClusterError as `eventually` */
export async function eventuallyListed<T>(
  list: () => Promise<readonly T[]>,
  check: (objects: readonly T[]) => ReturnType<Check>,
  waiting: Waiting,
  options?: EventuallyOptions,
): Promise<readonly T[]> {
  let found: readonly T[] = []
  const look: Check = async () => {
    found = await list()
    return check(found)
  }
  await eventually(look, waiting, options, check)
  return found
}

/** Matches code that looks like an assertion, which succeeds by returning nothing. */
const ASSERTION = /\bexpect|\bassert|\bthrow\b|\bshould\b/i
const isAssertion = (check: (...args: never[]) => unknown): boolean => ASSERTION.test(check.toString())

/** Returns undefined when the check holds, otherwise why it does not. */
async function outcome(
  check: Check,
  asserts: boolean,
): Promise<{ readonly why: string; readonly cause?: unknown } | undefined> {
  let value: unknown
  try {
    value = await check()
  } catch (err) {
    return { why: errorMessage(err), cause: err }
  }
  if (value === true || (value === undefined && asserts)) return undefined
  if (value === false) return { why: "the check returned false" }
  throw new TestClusterError(
    `Cannot tell whether the check holds: it returned ${inShort(value)}. Return true or false, such as \`… ` +
      `!== undefined\` or \`… === true\`, or assert with \`expect\`; a helper that asserts can return true at its ` +
      "end",
  )
}

function inShort(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === "object" && value !== null) return `an object (${Object.keys(value).slice(0, 4).join(", ")})`
  return typeof value === "string" ? JSON.stringify(value) : String(value)
}

/** Resolves at the next write, or a little later. */
async function change(clock: Clock, storage: MemoryStorage): Promise<void> {
  const written = new AbortController()
  const off = storage.subscribe(() => written.abort())
  await sleep(clock, LOOK_MS, written.signal).catch(() => undefined)
  off()
}
