import { parseTime } from "../apimachinery/scalars/time.ts"

/** A moment in the history of a cluster, as people write it. */
export type Point =
  /** A resourceVersion. */
  | { readonly revision: number }
  /** Milliseconds since the epoch. */
  | { readonly time: number }
  /** Milliseconds before now. */
  | { readonly ago: number }

/** What `parsePoint` takes, for messages. */
export const POINT_FORMS = "a resourceVersion, a time (2026-01-31T12:00:00Z), how long ago (90s, 10m, 2h30m, 1d) or now"

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const PARTS = /(\d{1,9}(?:\.\d{1,3})?)(ms|[smhd])/g

/** Parses a moment; undefined for any other text. */
export function parsePoint(text: string): Point | undefined {
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) }
  if (/^(?:\d{1,9}(?:\.\d{1,3})?(?:ms|[smhd])){1,5}$/.test(text)) {
    const parts = [...text.matchAll(PARTS)]
    return { ago: parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNIT_MS[unit!]!, 0) }
  }
  if (text === "now") return { ago: 0 }
  const time = parseTime(text)
  return time === undefined ? undefined : { time }
}
