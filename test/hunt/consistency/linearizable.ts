/**
 * Checks that a history of one object could have happened one operation after another, each at some instant between its
 * call and its return. The search is that of Wing and Gong with the memory of Lowe, as in Porcupine: an order that led
 * to the same state with the same operations done is not tried again.
 */

/** What a write found or a read returned; null where there is no object. */
export type Value = string | null

interface Timed {
  /** Numbers of one sequence for all clients. An operation without an answer has not returned: Infinity. */
  readonly called: number
  readonly returned: number
  readonly by: string
}

export type Operation = Timed &
  (
    | { readonly is: "read"; readonly value: Value }
    | {
        readonly is: "write"
        /** The required current value; undefined for any. */
        readonly expected: Value | undefined
        readonly value: Value
        /** unknown: it may have happened, or may happen later. */
        readonly outcome: "done" | "refused" | "unknown"
      }
  )

/** Returns whether the history is linearizable. The object does not exist at the beginning. */
export function isLinearizable(history: readonly Operation[]): boolean {
  const operations = history.toSorted((a, b) => a.called - b.called)
  const required = operations.reduce(
    (bits, { returned }, i) => (returned === Infinity ? bits : bits | (1n << BigInt(i))),
    0n,
  )
  const tried = new Set<string>()

  function search(state: Value, done: bigint): boolean {
    if ((done & required) === required) return true
    const memory = `${done} ${state}`
    if (tried.has(memory)) return false
    tried.add(memory)
    // Nothing can come before an operation that had returned when it was called.
    let first = Infinity
    operations.forEach(({ returned }, i) => {
      if ((done & (1n << BigInt(i))) === 0n) first = Math.min(first, returned)
    })
    return operations.some((operation, i) => {
      const bit = 1n << BigInt(i)
      if ((done & bit) !== 0n || operation.called > first) return false
      const next = after(state, operation)
      return next !== undefined && search(next.state, done | bit)
    })
  }
  return search(null, 0n)
}

/** Returns the state after an operation; undefined where it could not have ended so. */
function after(state: Value, operation: Operation): { readonly state: Value } | undefined {
  if (operation.is === "read") return operation.value === state ? { state } : undefined
  const { expected, value, outcome } = operation
  const fits = expected === undefined ? state !== null : expected === state
  switch (outcome) {
    case "done":
      return fits ? { state: value } : undefined
    case "refused":
      return fits ? undefined : { state }
    case "unknown":
      return fits ? { state: value } : { state }
  }
}
