import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { ReportedHealth } from "./dra-health-service.ts"

export interface DeviceHealth {
  readonly health: ReportedHealth["health"]
  /** Empty for none; at most 1024 bytes. */
  readonly message: string
}

export interface DeviceName {
  readonly poolName: string
  readonly deviceName: string
}

/** Called with the devices whose health or message changed, by `deviceKey`. */
export type HealthListener = (driver: string, devices: ReadonlySet<string>) => void

interface Known extends DeviceHealth {
  /** When the report no longer holds, on the clock's monotonic time. */
  readonly until: number
}

/** Milliseconds for which a report holds that names no time. Source: healthinfo.go DefaultHealthTimeout. */
const DEFAULT_TIMEOUT_MS = 30_000
/** The longest message, in bytes. Source: core/v1 ResourceHealthMessageMaxLength. */
const LONGEST_MESSAGE = 1024
/** The most devices of a driver whose health is kept; those that were reported longest ago are forgotten first. */
const MOST_DEVICES = 10_000

const UNKNOWN: DeviceHealth = { health: "Unknown", message: "" }

/** The name of a device among those of its driver. */
export const deviceKey = ({ poolName, deviceName }: DeviceName): string => `${poolName}/${deviceName}`

/**
 * What drivers last said of the health of their devices. A report holds for the time that the driver gives, and then
 * the health is Unknown. Differs from upstream: listeners are told when that time is over, and nothing is kept in a
 * file. Source: pkg/kubelet/cm/dra/healthinfo.go.
 */
export class DeviceHealths {
  readonly #clock: Clock
  /** By driver and `deviceKey`, with the newest report last. */
  readonly #drivers = new Map<string, Map<string, Known>>()
  /** By driver, the timer of the next report that will no longer hold. */
  readonly #timers = new Map<string, Timer>()
  readonly #listeners = new Set<HealthListener>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  onChanged(listener: HealthListener): void {
    this.#listeners.add(listener)
  }

  of(driver: string, device: DeviceName): DeviceHealth {
    return this.#drivers.get(driver)?.get(deviceKey(device)) ?? UNKNOWN
  }

  /** Takes over a report of the driver. Devices that it does not name keep their health until that is too old. */
  report(driver: string, devices: readonly ReportedHealth[]): void {
    const known = this.#drivers.get(driver) ?? new Map<string, Known>()
    this.#drivers.set(driver, known)
    const changed = new Set<string>()
    for (const { device, health, message, healthCheckTimeoutSeconds: seconds } of devices) {
      const key = deviceKey(device ?? { poolName: "", deviceName: "" })
      const until = this.#clock.monotonic() + (seconds > 0 ? seconds * 1000 : DEFAULT_TIMEOUT_MS)
      const now = { health, message: shortened(message), until }
      if (differs(known.get(key) ?? UNKNOWN, now)) changed.add(key)
      known.delete(key)
      known.set(key, now)
    }
    for (const key of known.keys()) {
      if (known.size <= MOST_DEVICES) break
      known.delete(key)
      changed.add(key)
    }
    this.#await(driver, known)
    this.#tell(driver, changed)
  }

  /** Forgets the health of the driver's devices, since nobody reports it any more. */
  forget(driver: string): void {
    const known = this.#drivers.get(driver)
    this.#timers.get(driver)?.cancel()
    this.#timers.delete(driver)
    this.#drivers.delete(driver)
    if (known !== undefined) this.#tell(driver, notUnknown(known))
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel()
  }

  #await(driver: string, known: Map<string, Known>): void {
    this.#timers.get(driver)?.cancel()
    this.#timers.delete(driver)
    let next = Infinity
    for (const { until } of known.values()) next = Math.min(next, until)
    if (next === Infinity) return
    const timer = this.#clock.setTimeout(() => this.#expire(driver, known), next - this.#clock.monotonic())
    this.#timers.set(driver, timer)
  }

  #expire(driver: string, known: Map<string, Known>): void {
    const now = this.#clock.monotonic()
    const old = new Map([...known].filter(([, { until }]) => until <= now))
    for (const key of old.keys()) known.delete(key)
    this.#await(driver, known)
    this.#tell(driver, notUnknown(old))
  }

  #tell(driver: string, changed: ReadonlySet<string>): void {
    if (changed.size === 0) return
    for (const listener of this.#listeners) listener(driver, changed)
  }
}

const differs = (a: DeviceHealth, b: DeviceHealth): boolean => a.health !== b.health || a.message !== b.message

const notUnknown = (known: ReadonlyMap<string, Known>): ReadonlySet<string> =>
  new Set([...known].flatMap(([key, health]) => (differs(health, UNKNOWN) ? [key] : [])))

/** Returns the message in the length that the API takes, cut between characters. Source: manager.go. */
function shortened(message: string): string {
  const bytes = Buffer.from(message)
  if (bytes.length <= LONGEST_MESSAGE) return message
  // A streaming decoder holds back the bytes of a character that is cut off.
  return `${new TextDecoder().decode(bytes.subarray(0, LONGEST_MESSAGE - 3), { stream: true })}...`
}
