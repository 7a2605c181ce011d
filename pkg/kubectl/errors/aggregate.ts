/** Several errors as one. Source of the behaviour: apimachinery pkg/util/errors. */
export class Aggregate extends Error {
  override readonly name: string = "Aggregate"
  readonly errors: readonly unknown[]

  constructor(errors: readonly unknown[]) {
    super(textOf(errors))
    this.errors = errors
  }
}

/** Undefined when there are none; also one error is an Aggregate. */
export const aggregate = (errors: readonly unknown[]): Aggregate | undefined =>
  errors.length === 0 ? undefined : new Aggregate(errors)

/** Throws the errors as one, if there are any. */
export function throwAggregate(errors: readonly unknown[]): void {
  const all = aggregate(errors)
  if (all !== undefined) throw all
}

/** The errors in an error that are no aggregates themselves. */
export const flatten = (err: unknown): readonly unknown[] =>
  err instanceof Aggregate ? err.errors.flatMap(flatten) : [err]

/** An aggregate of one error is that error; others stay. */
export const reduce = (err: unknown): unknown =>
  err instanceof Aggregate && err.errors.length === 1 ? err.errors[0] : err

/** Leaves out the errors that one of the matchers matches; undefined when none is left. */
export function filterOut(err: unknown, matchers: readonly ((err: unknown) => boolean)[]): unknown {
  if (err instanceof Aggregate) {
    const left = err.errors.map((each) => filterOut(each, matchers)).filter((each) => each !== undefined)
    return left.length === 0 ? undefined : new Aggregate(left)
  }
  return matchers.some((matches) => matches(err)) ? undefined : err
}

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err))

function textOf(errors: readonly unknown[]): string {
  if (errors.length === 1) return messageOf(errors[0])
  const messages = [...new Set(errors.flatMap(flatten).map(messageOf))]
  return messages.length === 1 ? messages[0]! : `[${messages.join(", ")}]`
}
