/** The first of several values in their order, and the number of those that follow. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly remaining: number
}
