import { parseDuration as parseGoDuration, parseTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import { TestClusterError } from "../caller.ts"

/** Milliseconds, or text such as `90s`, `1h30m`, `3d`, `2w`. */
export type Duration = number | string

const DAY = 86_400_000

/** Returns the milliseconds of a duration. @throws TestClusterError when it is invalid */
export function milliseconds(duration: Duration): number {
  const ms = typeof duration === "number" ? duration : fromText(duration)
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) {
    throw new TestClusterError(
      `Cannot use ${JSON.stringify(duration)} as a duration: expected milliseconds, or text such as "90s", ` +
        `"1h30m" or "3d"`,
    )
  }
  return ms
}

/** The same for a duration that may be negative, such as `-40s`. */
export const signedMilliseconds = (duration: Duration): number =>
  typeof duration === "number"
    ? Math.sign(duration) * milliseconds(Math.abs(duration))
    : duration.startsWith("-")
      ? -milliseconds(duration.slice(1))
      : milliseconds(duration)

function fromText(text: string): number | undefined {
  if (typeof text !== "string") return undefined
  const [, weeks = "0w", days = "0d", rest = ""] = /^(\d+(?:\.\d+)?w)?(\d+(?:\.\d+)?d)?(.*)$/.exec(text.trim()) ?? []
  if (text.trim() === "") return undefined
  const smaller = rest === "" ? 0 : parseGoDuration(rest)
  return smaller === undefined
    ? undefined
    : Number.parseFloat(weeks) * 7 * DAY + Number.parseFloat(days) * DAY + smaller
}

/** Returns the milliseconds since the epoch of an instant. @throws TestClusterError when it is invalid */
export function instant(time: string | number | Date): number {
  const ms = typeof time === "number" ? time : time instanceof Date ? time.getTime() : parseTime(time)
  if (ms === undefined || !Number.isFinite(ms))
    throw new TestClusterError(
      `Cannot use ${JSON.stringify(time)} as a time: expected RFC 3339, such as "2026-01-31T12:00:00Z"`,
    )
  return ms
}
