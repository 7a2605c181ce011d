import type { PrefixWriter } from "./prefix-writer.ts"

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string | undefined
}

/** Writes the conditions of a controller. */
export function describeReasons(w: PrefixWriter, conditions: readonly Condition[] | undefined = []): void {
  if (conditions.length === 0) return
  w.write(0, "Conditions:\n  Type\tStatus\tReason\n")
  w.row(1, "----", "------", "------")
  for (const { type, status, reason = "" } of conditions) w.row(1, `${type} `, status, reason)
}
