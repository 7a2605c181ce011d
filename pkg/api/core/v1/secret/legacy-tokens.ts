/**
 * Labels and objects with which unused tokens of service accounts are found. Sources: pkg/serviceaccount/legacy.go,
 * pkg/controlplane/controller/legacytokentracking.
 */
import type { Clock } from "../../../../clock/clock.ts"

export const SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
/** Annotations of a token Secret: the account that the token authenticates. */
export const SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"
export const SERVICE_ACCOUNT_UID = "kubernetes.io/service-account.uid"

/** Labels whose value is a day. */
export const LAST_USED = "kubernetes.io/legacy-token-last-used"
export const INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"

/** The ConfigMap whose key `since` is the day since which the use of tokens has been recorded. */
export const TRACKING = {
  namespace: "kube-system",
  name: "kube-apiserver-legacy-service-account-token-tracking",
} as const
export const TRACKED_SINCE = "since"

const DAY_MS = 24 * 3_600_000

/** Returns a day in UTC such as 2026-01-31: today, or `days` later. */
export const dayOf = (clock: Clock, days = 0): string =>
  new Date(clock.now() + days * DAY_MS).toISOString().slice(0, 10)

/** Returns the start of a day in milliseconds since the epoch; undefined for an invalid day. */
export function startOfDay(day: string | undefined): number | undefined {
  if (day === undefined || !/^\d{4}-\d\d-\d\d$/.test(day)) return undefined
  const time = Date.parse(`${day}T00:00:00Z`)
  // Date.parse turns the 30th of February into the 1st of March.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day) ? time : undefined
}
