/** The cost limit of one evaluation. Source: apiserver pkg/apis/cel/config.go PerCallLimit. */
export const PER_CALL_LIMIT = 1_000_000

/** Ends an evaluation that exceeds its cost limit. Source: cel-go interpreter/runtimecost.go. */
export class CostExceeded extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded")
  }
}

/** The longest string, in characters: reading a longer one once costs more than an evaluation may. */
const LONGEST_TEXT = 10 * PER_CALL_LIMIT
/** The longest list: searching a longer one costs more than an evaluation may. */
const LONGEST_LIST = PER_CALL_LIMIT

/**
 * Throws CostExceeded for a string that is too long for any use. Differs from upstream, where such a string can be
 * made: upstream charges for a value after it was made, so an expression of a few hundred characters can use up all
 * memory.
 */
export function boundedText(length: number): void {
  if (length > LONGEST_TEXT) throw new CostExceeded()
}

/** Throws CostExceeded for a list that is too long for any use. Differs from upstream as boundedText. */
export function boundedList(size: number): void {
  if (size > LONGEST_LIST) throw new CostExceeded()
}

/** Throws CostExceeded for a cost above the limit, before the work is done. */
export function affordable(cost: number): void {
  if (cost > PER_CALL_LIMIT) throw new CostExceeded()
}

/**
 * Counts the steps of one traversal of values, which may contain the same list many times. Differs from upstream: a
 * very long traversal ends the evaluation, after some tenths of a second.
 */
export class Walk {
  #left = LONGEST_TEXT
  step(): void {
    if (--this.#left < 0) throw new CostExceeded()
  }
}
