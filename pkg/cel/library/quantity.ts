import {
  addQuantities,
  compareQuantities,
  fromUnits,
  parseQuantity,
  QUANTITY_FORM,
  subtractQuantities,
  type Quantity,
} from "../../apimachinery/scalars/quantity.ts"
import { BOOL, DOUBLE, INT, QUANTITY, STRING, type CelType } from "../type.ts"
import { CelError, Double, intOf, LARGEST_INT, OpaqueValue, SMALLEST_INT, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"

/** Resource quantities. Source: apiserver pkg/cel/library/quantity.go. */

const NANO = 1_000_000_000n

export class QuantityValue extends OpaqueValue {
  readonly type: CelType = QUANTITY
  readonly quantity: Quantity
  /** Whether it was written without a fraction: for upstream `1000m` is not an integer. */
  readonly isWhole: boolean
  constructor(quantity: Quantity, isWhole: boolean) {
    super()
    this.quantity = quantity
    this.isWhole = isWhole
  }
  equals(other: Value): boolean {
    return other instanceof QuantityValue && other.quantity.nano === this.quantity.nano
  }
}

/** Longer strings are refused. Differs from upstream, which reads any number of digits. */
const LONGEST = 1000

const read = (text: string): Quantity | undefined => (text.length > LONGEST ? undefined : parseQuantity(text))

function parse(text: string): Value {
  const quantity = read(text)
  return quantity === undefined ? new CelError(QUANTITY_FORM) : new QuantityValue(quantity, isWrittenWhole(text))
}

/** Whether there are no more digits after the decimal point than the suffix shifts. */
function isWrittenWhole(text: string): boolean {
  const [, fraction = "", suffix = ""] = /^[+-]?[0-9]*\.?([0-9]*)(.*)$/.exec(text) ?? []
  const power = /^[eE]([+-]?[0-9]+)$/.exec(suffix)?.[1] ?? POWERS[suffix]
  return fraction.length <= Number(power ?? 0)
}
const POWERS: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }

function asInteger({ quantity, isWhole }: QuantityValue): number | bigint | undefined {
  const whole = quantity.nano / NANO
  // Larger quantities cannot be told from the largest int, to which the parser reduces them.
  if (!isWhole || whole >= LARGEST_INT || whole < SMALLEST_INT) return undefined
  return intOf(whole)
}

const compare = (a: QuantityValue, b: QuantityValue): number => compareQuantities(a.quantity, b.quantity)

const withInt =
  (combine: (a: Quantity, b: Quantity) => Quantity) =>
  (a: QuantityValue, b: number | bigint): Value =>
    new QuantityValue(combine(a.quantity, fromUnits(b, "DecimalExponent")), a.isWhole)

const withQuantity =
  (combine: (a: Quantity, b: Quantity) => Quantity) =>
  (a: QuantityValue, b: QuantityValue): Value =>
    new QuantityValue(combine(a.quantity, b.quantity), a.isWhole && b.isWhole)

const PAIR = [QUANTITY, QUANTITY]

export const QUANTITIES: readonly FunctionDeclaration[] = [
  declare("quantity", [overload("string_to_quantity", [STRING], QUANTITY, parse)]),
  declare("isQuantity", [overload("is_quantity_string", [STRING], BOOL, (text: string) => read(text) !== undefined)]),
  declare("sign", [
    overload("quantity_sign", [QUANTITY], INT, ({ quantity: { nano } }: QuantityValue) =>
      nano > 0n ? 1 : nano < 0n ? -1 : 0,
    ),
  ]),
  declare("isGreaterThan", [
    member("quantity_is_greater_than", PAIR, BOOL, (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0),
  ]),
  declare("isLessThan", [
    member("quantity_is_less_than", PAIR, BOOL, (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0),
  ]),
  declare("compareTo", [member("quantity_compare_to", PAIR, INT, compare)]),
  declare("asApproximateFloat", [
    member(
      "quantity_get_float",
      [QUANTITY],
      DOUBLE,
      ({ quantity }: QuantityValue) => new Double(Number(quantity.nano) / 1e9),
    ),
  ]),
  declare("asInteger", [
    member(
      "quantity_get_int",
      [QUANTITY],
      INT,
      (value: QuantityValue) => asInteger(value) ?? new CelError("cannot convert value to integer"),
    ),
  ]),
  declare("isInteger", [
    member("quantity_is_integer", [QUANTITY], BOOL, (value: QuantityValue) => asInteger(value) !== undefined),
  ]),
  declare("add", [
    member("quantity_add", PAIR, QUANTITY, withQuantity(addQuantities)),
    member("quantity_add_int", [QUANTITY, INT], QUANTITY, withInt(addQuantities)),
  ]),
  declare("sub", [
    member("quantity_sub", PAIR, QUANTITY, withQuantity(subtractQuantities)),
    member("quantity_sub_int", [QUANTITY, INT], QUANTITY, withInt(subtractQuantities)),
  ]),
]
