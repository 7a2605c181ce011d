import type { Device, DeviceAttribute } from "../../../pkg/api/resource/v1/device.ts"
import type { DeviceConstraint } from "../../../pkg/api/resource/v1/deviceclaim.ts"
import type { Asked } from "./requests.ts"

/**
 * What the devices of a claim must have in common, or not. A constraint that refuses a device refuses it still when
 * more are added. Source: structured/internal/incubating/{allocator,constraint}_incubating.go.
 */
export class Constraint {
  readonly #requests: readonly string[]
  readonly #attribute: string
  readonly #isDistinct: boolean
  /** The values of the devices that were added. */
  readonly #values: string[] = []

  constructor({ requests = [], matchAttribute, distinctAttribute }: DeviceConstraint) {
    this.#requests = requests
    this.#isDistinct = matchAttribute === undefined
    this.#attribute = matchAttribute ?? distinctAttribute ?? ""
  }

  /** Adds a device, and gives what takes it out again; undefined where the constraint refuses it. */
  add(asked: Asked, driver: string, device: Device): (() => void) | undefined {
    if (!this.#concerns(asked)) return () => undefined
    const attribute = attributeOf(device, driver, this.#attribute)
    const value = attribute === undefined ? undefined : valueOf(attribute)
    if (value === undefined) return undefined
    if (this.#isDistinct ? this.#values.includes(value) : this.#values.some((other) => other !== value))
      return undefined
    this.#values.push(value)
    return () => void this.#values.splice(this.#values.lastIndexOf(value), 1)
  }

  #concerns({ name, request }: Asked): boolean {
    return this.#requests.length === 0 || this.#requests.includes(request) || this.#requests.includes(name)
  }
}

/** An attribute by its full name: one without a domain has that of the driver. */
function attributeOf({ attributes = {} }: Device, driver: string, name: string): DeviceAttribute | undefined {
  if (Object.hasOwn(attributes, name)) return attributes[name]
  const [domain, ...id] = name.split("/")
  const short = id.join("/")
  return domain === driver && Object.hasOwn(attributes, short) ? attributes[short] : undefined
}

/** Values of different types are never the same. */
function valueOf({ string, int, bool, version }: DeviceAttribute): string | undefined {
  if (string !== undefined) return `string ${string}`
  if (int !== undefined) return `int ${int}`
  if (bool !== undefined) return `bool ${bool}`
  return version === undefined ? undefined : `version ${version}`
}
