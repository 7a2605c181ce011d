import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { formatDuration } from "../../../../pkg/apimachinery/time.ts"
import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import { TestClusterError } from "../caller.ts"
import type { Driver } from "../time/driver.ts"
import type { LastSeen } from "../history/last-seen.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import { replay } from "../seed.ts"

/** Holds when it gives true, or when it asserts something (`expect`, `assert`) and does not throw. */
export type Check = () => boolean | void | Promise<boolean | void>

export interface EventuallyOptions {
  /** How long to wait, in the cluster's time; 60s unless given. */
  readonly within?: Duration
}

export interface Waiting {
  readonly clock: Clock
  readonly driver: Driver
  readonly storage: MemoryStorage
  readonly seed: number
  /** What the test reads. */
  readonly seen: LastSeen
  /** What `explain` says of a pod; empty where it cannot. */
  readonly explain: (pod: Pod) => Promise<string>
}

/** With the real clock the check is repeated when something was written, and at least this often. */
const LOOK_MS = 100

/**
 * Waits until `check` holds. @throws TestClusterError that says what was last seen; at once for a check that is none
 */
export async function eventually(
  check: Check,
  { clock, driver, storage, seed, seen: lastSeen, explain }: Waiting,
  { within = "60s" }: EventuallyOptions = {},
  /** The function of the test's own, where `check` only calls it. */
  written: (...args: never[]) => unknown = check,
): Promise<void> {
  const began = clock.now()
  const deadline = began + milliseconds(within)
  let asserts = isAssertion(written)
  for (;;) {
    await driver.move((virtual) => virtual.settle())
    lastSeen.begin()
    const seen = await outcome(check, asserts)
    if (seen === undefined) return
    asserts ||= seen.cause !== undefined
    if (clock.now() >= deadline)
      throw new TestClusterError(
        [
          `Not within ${formatDuration(deadline - began)} of ${driver.isVirtual ? "virtual " : ""}time ` +
            `(${replay(seed)}); last seen: ${seen.why}`,
          ...(await lastSeen.inWords(explain)),
        ].join("\n  "),
        { cause: seen.cause, reason: "Timeout" },
      )
    if (driver.isVirtual)
      await driver.move((virtual) => virtual.advanceTo(Math.min(virtual.nextDue ?? Infinity, deadline)))
    else await change(clock, storage)
  }
}

/** What looks like an assertion, whose success is to give nothing. */
const ASSERTION = /\bexpect|\bassert|\bthrow\b|\bshould\b/i
const isAssertion = (check: (...args: never[]) => unknown): boolean => ASSERTION.test(check.toString())

/** Undefined when the check holds. */
async function outcome(
  check: Check,
  asserts: boolean,
): Promise<{ readonly why: string; readonly cause?: unknown } | undefined> {
  let value: unknown
  try {
    value = await check()
  } catch (err) {
    return { why: err instanceof Error ? err.message : String(err), cause: err }
  }
  if (value === true || (value === undefined && asserts)) return undefined
  if (value === false) return { why: "the check gave false" }
  throw new TestClusterError(
    `Cannot tell whether the check holds: it gave ${inShort(value)}. Let it give true or false, such as \`… ` +
      `!== undefined\` or \`… === true\`, or assert with \`expect\`; a helper that asserts can give true at its ` +
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
