/** The most that one evaluation may cost. Source: apiserver pkg/apis/cel/config.go PerCallLimit. */
export const PER_CALL_LIMIT = 1_000_000

/** Ends an evaluation that has used up its budget. Source: cel-go interpreter/runtimecost.go. */
export class CostExceeded extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded")
  }
}

/** Characters of a text: reading more of them once costs more than an evaluation may. */
const LONGEST_TEXT = 10 * PER_CALL_LIMIT
/** Items of a list: looking for something in a longer list costs more than an evaluation may. */
const LONGEST_LIST = PER_CALL_LIMIT

/**
 * Throws CostExceeded for a text that nothing could read. Differs from upstream: making it ends the evaluation already.
 * Upstream counts what a value costs after it was made, so an expression of a few hundred characters can ask for more
 * memory than there is.
 */
export function boundedText(length: number): void {
  if (length > LONGEST_TEXT) throw new CostExceeded()
}

/** Throws CostExceeded for a list that nothing could read. Differs from upstream as boundedText. */
export function boundedList(size: number): void {
  if (size > LONGEST_LIST) throw new CostExceeded()
}

/** Throws CostExceeded for a cost that is over the limit, before the work that it stands for is done. */
export function affordable(cost: number): void {
  if (cost > PER_CALL_LIMIT) throw new CostExceeded()
}

/**
 * Counts the steps of one walk over values, which may hold the same list many times over. Differs from upstream: such a
 * walk ends the evaluation after some tenths of a second.
 */
export class Walk {
  #left = LONGEST_TEXT
  step(): void {
    if (--this.#left < 0) throw new CostExceeded()
  }
}
