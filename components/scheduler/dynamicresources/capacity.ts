import type { Device, DeviceCapacity } from "../../../pkg/api/resource/v1/device.ts"
import {
  formatQuantity,
  fromUnits,
  quantity,
  unitsOf,
  type Quantity,
} from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { Asked } from "./requests.ts"

/**
 * What requests take of devices that have capacities. Source: dynamic-resource-allocation
 * structured/internal/incubating/consumable_capacity.go.
 */

/** Amounts by the names of capacities, in billionths. */
export type Amounts = ReadonlyMap<string, bigint>

/** What a request takes of one device, by the names of the device's capacities. */
export type Consumption = ReadonlyMap<string, Quantity>

/**
 * Returns what the request takes of the device; undefined where the device does not have what is asked for, or does not
 * give such amounts.
 */
export function consumptionOf({ capacity: wanted = {} }: Asked, { capacity = {} }: Device): Consumption | undefined {
  if (Object.keys(wanted).some((name) => !Object.hasOwn(capacity, name))) return undefined
  const taken = new Map<string, Quantity>()
  for (const [name, has] of Object.entries(capacity)) {
    const amount = amountOf(Object.hasOwn(wanted, name) ? quantity(wanted[name]!) : undefined, has)
    if (amount.nano > quantity(has.value).nano || !isGiven(amount, has)) return undefined
    taken.set(name, amount)
  }
  return taken
}

/** Returns what a request gets that asks for an amount, or says nothing. */
function amountOf(asked: Quantity | undefined, { value, requestPolicy }: DeviceCapacity): Quantity {
  if (asked === undefined) return quantity(requestPolicy?.default ?? value)
  const { validRange, validValues } = requestPolicy ?? {}
  if (validRange?.min !== undefined) {
    const least = quantity(validRange.min)
    if (asked.nano < least.nano) return least
    if (validRange.step === undefined) return asked
    const [min, step] = [unitsOf(validRange.min), unitsOf(validRange.step)]
    return fromUnits(min + step * Math.ceil((unitsOf(formatQuantity(asked)) - min) / step), "BinarySI")
  }
  return validValues?.map(quantity).find(({ nano }) => asked.nano <= nano) ?? asked
}

/** Whether the device gives just this amount. */
function isGiven(amount: Quantity, { requestPolicy }: DeviceCapacity): boolean {
  if (requestPolicy === undefined) return true
  const { default: usual, validRange, validValues = [] } = requestPolicy
  if (usual !== undefined && amount.nano === quantity(usual).nano) return true
  if (validRange !== undefined) {
    const { min, max, step } = validRange
    if (max !== undefined && amount.nano > quantity(max).nano) return false
    return step === undefined || (unitsOf(formatQuantity(amount)) - unitsOf(min)) % unitsOf(step) === 0
  }
  return validValues.length === 0 || validValues.some((value) => quantity(value).nano === amount.nano)
}

/** What is taken of devices that several claims share, while a search goes on. */
export class SharedCapacity {
  readonly #before: ReadonlyMap<string, Amounts>
  /** What this search has taken, by device. */
  readonly #taken = new Map<string, Consumption[]>()

  /** @param before what claims have already, by device */
  constructor(before: ReadonlyMap<string, Amounts>) {
    this.#before = before
  }

  /** Whether somebody has a share of the device. */
  isUsed(id: string): boolean {
    return this.#before.has(id) || (this.#taken.get(id) ?? []).length > 0
  }

  /** Whether that much of the device is free. */
  hasRoom(id: string, { capacity = {} }: Device, consumption: Consumption): boolean {
    return Object.entries(capacity).every(([name, { value }]) => {
      const used = (this.#taken.get(id) ?? []).reduce((sum, taken) => sum + (taken.get(name)?.nano ?? 0n), 0n)
      const before = this.#before.get(id)?.get(name) ?? 0n
      return before + used + (consumption.get(name)?.nano ?? 0n) <= quantity(value).nano
    })
  }

  /** Takes a share of the device, and returns what gives it back. */
  take(id: string, consumption: Consumption): () => void {
    const taken = this.#taken.get(id) ?? []
    this.#taken.set(id, taken)
    taken.push(consumption)
    return () => void taken.splice(taken.lastIndexOf(consumption), 1)
  }
}
