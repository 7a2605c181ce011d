import type { DeviceCounterConsumption } from "../../../pkg/api/resource/v1/device.ts"
import { quantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { isAllocated, type AllocatedDevices } from "./allocated-devices.ts"
import { deviceId, type Pool } from "./pools.ts"

/** What is left of the counters of one pool, in billionths, by set and name. Source: checkAvailableCounters. */
export class Counters {
  readonly #left = new Map<string, bigint>()

  constructor({ driver, name, slices, others, counterSets }: Pool, allocated: AllocatedDevices) {
    for (const set of counterSets)
      for (const [counter, { value }] of Object.entries(set.counters))
        this.#left.set(`${set.name}/${counter}`, quantity(value).nano)
    for (const { spec } of [...slices, ...others])
      for (const device of spec.devices ?? [])
        if (isAllocated(allocated, deviceId(driver, name, device.name))) this.#add(device.consumesCounters ?? [], -1n)
  }

  /** Takes what a device consumes, and gives what puts it back; undefined, and nothing taken, where it is too much. */
  take(consumed: readonly DeviceCounterConsumption[]): (() => void) | undefined {
    this.#add(consumed, -1n)
    const isEnough = [...this.#left.values()].every((left) => left >= 0n)
    const giveBack = () => this.#add(consumed, 1n)
    if (isEnough) return giveBack
    giveBack()
    return undefined
  }

  #add(consumed: readonly DeviceCounterConsumption[], times: bigint): void {
    for (const { counterSet, counters } of consumed)
      for (const [name, { value }] of Object.entries(counters)) {
        const key = `${counterSet}/${name}`
        const left = this.#left.get(key)
        if (left !== undefined) this.#left.set(key, left + times * quantity(value).nano)
      }
  }
}
