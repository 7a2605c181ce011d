import type { Application } from "./application.ts"
import { count, numeral, quote, type Fault } from "./faults.ts"
import { isMultiple } from "./numbers.ts"

/** Returns the value of a keyword that is a whole number. */
export const size = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) ? value : undefined

/** Returns what keywords about texts find wrong with one. */
export function textFaults({ schema, path, evaluation }: Application, text: string): readonly Fault[] {
  const { work, set } = evaluation
  const faults: Fault[] = []
  const add = (message: string) => faults.push({ path, text: message, causes: [] })
  const [least, most] = [size(schema["minLength"]), size(schema["maxLength"])]
  if (least !== undefined || most !== undefined) {
    work.read(text.length)
    const length = Array.from(text).length
    if (least !== undefined && length < least) add(`minLength: got ${count(length)}, want ${count(least)}`)
    if (most !== undefined && length > most) add(`maxLength: got ${count(length)}, want ${count(most)}`)
  }
  const { pattern } = schema
  if (typeof pattern === "string") {
    work.read((text.length + 1) * pattern.length)
    if (!set.pattern(pattern).test(text)) add(`${quote(text)} does not match pattern ${quote(pattern)}`)
  }
  return faults
}

const numberIn = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

/** Returns what keywords about numbers find wrong with one. */
export function numberFaults({ schema, path }: Application, value: number): readonly Fault[] {
  const faults: Fault[] = []
  const check = (keyword: string, wanted: number | undefined, isKept: (wanted: number) => boolean) => {
    if (wanted !== undefined && !isKept(wanted))
      faults.push({ path, text: `${keyword}: got ${numeral(value)}, want ${numeral(wanted)}`, causes: [] })
  }
  const [minimum, maximum] = [numberIn(schema["minimum"]), numberIn(schema["maximum"])]
  // In the oldest draft these say how the other two are meant.
  const [isAbove, isBelow] = [schema["exclusiveMinimum"] === true, schema["exclusiveMaximum"] === true]
  check("minimum", isAbove ? undefined : minimum, (wanted) => value >= wanted)
  check("maximum", isBelow ? undefined : maximum, (wanted) => value <= wanted)
  const above = isAbove ? minimum : numberIn(schema["exclusiveMinimum"])
  const below = isBelow ? maximum : numberIn(schema["exclusiveMaximum"])
  check("exclusiveMinimum", above, (wanted) => value > wanted)
  check("exclusiveMaximum", below, (wanted) => value < wanted)
  check("multipleOf", numberIn(schema["multipleOf"]), (wanted) => isMultiple(value, wanted))
  return faults
}
