import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { AllocationResult } from "../../../pkg/api/resource/v1/allocation.ts"
import type { Device, DeviceTaint } from "../../../pkg/api/resource/v1/device.ts"
import { toleratesDeviceTaint } from "../../../pkg/api/resource/v1/device-taints.ts"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import type { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { allocationOf, type Taken } from "./allocation.ts"
import { consumptionOf, SharedCapacity, type Consumption } from "./capacity.ts"
import { Constraint } from "./constraints.ts"
import { Counters } from "./counters.ts"
import type { DeviceSelector } from "../../../pkg/api/resource/v1/deviceclaim.ts"
import { PatternBudget } from "../../../pkg/re2/limits.ts"
import { SelectorError } from "../../../pkg/api/resource/v1/device-selectors.ts"
import { deviceId, isReachedBy, poolsFor, type Pool } from "./pools.ts"
import { alternativesOf, type Asked } from "./requests.ts"
import type { AllocatorInput } from "./allocator-input.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

/** Devices that one claim can get. Source: resource/v1 AllocationResultsMaxSize. */
const MOST_DEVICES = 32
/** How many devices the search for one node looks at, which takes some 20 ms. Upstream ends it after ten seconds. */
const MOST_STEPS = 50_000

/** Something is wrong with a claim, a class or the devices: the pod gets no node at all, and is tried again. */
export class AllocationError extends Error {
  override readonly name: string = "AllocationError"
}

/** This node cannot be looked at; others can. Source: ErrFailedAllocationOnNode. */
export class NodeAllocationError extends AllocationError {
  override readonly name = "NodeAllocationError"
}

/**
 * Finds devices for claims, node by node. Source: dynamic-resource-allocation
 * structured/internal/incubating/allocator_incubating.go.
 */
export class Allocator {
  readonly #input: AllocatorInput
  /**
   * Whether devices meet the selectors of what is asked for, which is the same for each node, by driver and device:
   * drivers whose devices are alike share their objects.
   */
  readonly #selected = new Map<Asked, Map<string, Map<Device, boolean>>>()
  /** What the patterns that the selectors compute for all devices may take, together for each claim and each class. */
  readonly #patterns = new Map<string, PatternBudget>()

  constructor(input: AllocatorInput) {
    this.#input = input
  }

  /**
   * What each claim gets where a pod is to run on the node, in the order of the claims; undefined where they cannot all
   * be had. @throws AllocationError
   */
  allocate(node: Node): readonly AllocationResult[] | undefined {
    const pools = poolsFor(node, this.#input.slices)
    const search = new Search(this.#input, node, pools, (asked, driver, device) =>
      this.#isSelected(asked, driver, device),
    )
    const found = search.run()
    if (found === undefined && pools.some(({ state }) => state === "invalid"))
      throw new NodeAllocationError("invalid resource pools were encountered")
    return found
  }

  #isSelected(asked: Asked, driver: string, device: Device): boolean {
    let byDriver = this.#selected.get(asked)
    if (byDriver === undefined) this.#selected.set(asked, (byDriver = new Map<string, Map<Device, boolean>>()))
    let known = byDriver.get(driver)
    if (known === undefined) byDriver.set(driver, (known = new Map<Device, boolean>()))
    let selected = known.get(device)
    if (selected === undefined) known.set(device, (selected = this.#select(asked, driver, device)))
    return selected
  }

  #select(asked: Asked, driver: string, device: Device): boolean {
    const { deviceClassName, selectors } = asked
    const ofClass = this.#input.deviceClass(deviceClassName)?.spec.selectors ?? []
    return (
      this.#matches(`class ${deviceClassName}`, ofClass, driver, device) &&
      this.#matches(`claim ${asked.claim}`, selectors, driver, device)
    )
  }

  #matches(whose: string, selectors: readonly DeviceSelector[], driver: string, device: Device): boolean {
    let patterns = this.#patterns.get(whose)
    if (patterns === undefined) this.#patterns.set(whose, (patterns = new PatternBudget()))
    try {
      return this.#input.selectors.match(selectors, driver, device, patterns)
    } catch (err) {
      throw err instanceof SelectorError ? new AllocationError(`${whose}: ${err.message}`) : err
    }
  }
}

/** What a claim asks for at one place: `all` holds the devices where all that fit are wanted. */
interface Alternative {
  readonly asked: Asked
  readonly count: number
  readonly all: readonly Candidate[] | undefined
}

interface Candidate {
  readonly pool: Pool
  readonly slice: ResourceSlice
  readonly device: Device
}

/** Where a search is: at the `at`th device of an alternative of a request; where none is `chosen`, before them all. */
interface Step {
  readonly claim: number
  readonly request: number
  readonly chosen?: Alternative
  readonly at?: number
  /** The device that the request got before; it gets none that come earlier. */
  readonly after?: Candidate
}

/** `too-many`: no other device helps, since the claim would get more than it can hold. */
type Outcome = "done" | "none" | "too-many"

/**
 * One search: it takes device after device, and goes back where that leads nowhere. The first solution counts. The
 * order of pools, slices and devices decides which one that is.
 */
class Search {
  readonly #input: AllocatorInput
  readonly #node: Node
  readonly #pools: readonly Pool[]
  readonly #isSelected: (asked: Asked, driver: string, device: Device) => boolean
  /** By claim and request. */
  readonly #requests: readonly (readonly (readonly Alternative[])[])[]
  readonly #constraints: readonly (readonly Constraint[])[]
  readonly #counters = new Map<Pool, Counters>()
  readonly #shares: SharedCapacity
  readonly #taken: readonly Taken[][]
  /** Claims that got a device in this search, by its id. */
  readonly #users = new Map<string, Set<number>>()
  #steps = 0

  constructor(
    input: AllocatorInput,
    node: Node,
    pools: readonly Pool[],
    isSelected: (asked: Asked, driver: string, device: Device) => boolean,
  ) {
    this.#input = input
    this.#node = node
    this.#pools = pools
    this.#isSelected = isSelected
    this.#shares = new SharedCapacity(input.allocated.shared)
    this.#taken = input.claims.map(() => [])
    this.#constraints = input.claims.map(({ spec }) =>
      (spec.devices.constraints ?? []).map((constraint) => new Constraint(constraint)),
    )
    this.#requests = input.claims.map((claim) => this.#requestsOf(claim))
  }

  run(): readonly AllocationResult[] | undefined {
    if (this.#next({ claim: 0, request: 0 }) !== "done") return undefined
    return this.#input.claims.map((claim, i) => allocationOf(claim, this.#taken[i]!, this.#node, this.#input))
  }

  #requestsOf({ metadata, spec }: ResourceClaim): readonly (readonly Alternative[])[] {
    const requests = (spec.devices.requests ?? []).map((request) =>
      alternativesOf(request).map((asked) =>
        this.#alternative({ ...asked, claim: `${metadata.namespace}/${metadata.name}` }),
      ),
    )
    const least = requests.reduce((sum, all) => sum + smallest(all.map(({ count }) => count)), 0)
    if (least > MOST_DEVICES)
      throw new AllocationError(
        `claim ${metadata.namespace}/${metadata.name}: number of requested devices ${least} exceeds the claim limit ` +
          `of ${MOST_DEVICES}`,
      )
    return requests
  }

  #alternative(asked: Asked): Alternative {
    if (!asked.all) return { asked, count: asked.count, all: undefined }
    const partial = this.#pools.find(({ state }) => state !== "complete")
    if (partial !== undefined)
      throw new AllocationError(
        `request ${asked.name}: asks for all devices, but resource pool ${partial.driver}/${partial.name} is currently ` +
          (partial.state === "invalid" ? "invalid" : "being updated"),
      )
    const all = [...this.#candidates()].filter(
      (candidate) => this.#fits(asked, candidate) && this.#consumption(asked, candidate) !== undefined,
    )
    return { asked, count: all.length, all }
  }

  /** The devices, or those that come after one of them. */
  *#candidates(after?: Candidate): Generator<Candidate> {
    let isLater = after === undefined
    for (const pool of this.#pools)
      for (const slice of pool.slices)
        for (const device of slice.spec.devices ?? []) {
          if (isLater) yield { pool, slice, device }
          else isLater = slice === after?.slice && device === after.device
        }
  }

  #fits(asked: Asked, { pool, slice, device }: Candidate): boolean {
    if (slice.spec.perDeviceNodeSelection === true && !isReachedBy(this.#node, device)) return false
    return this.#isSelected(asked, pool.driver, device)
  }

  /** Goes on with one device. */
  #next({ claim, request, chosen, at = 0, after }: Step): Outcome {
    const requests = this.#requests[claim]
    if (requests === undefined) return "done"
    const alternatives = requests[request]
    if (alternatives === undefined) {
      // Other devices of this claim may let the next one have fewer.
      const outcome = this.#next({ claim: claim + 1, request: 0 })
      return outcome === "too-many" ? "none" : outcome
    }
    if (chosen === undefined) {
      let failed: Outcome = "too-many"
      for (const alternative of alternatives) {
        const outcome = this.#next({ claim, request, chosen: alternative })
        if (outcome === "done") return outcome
        if (outcome === "none") failed = outcome
      }
      return failed
    }
    const { asked, count, all } = chosen
    if (all?.length === 0) return "none"
    if (at >= count) return this.#next({ claim, request: request + 1 })
    if (this.#taken[claim]!.length + count - at > MOST_DEVICES) return "too-many"
    for (const candidate of all === undefined ? this.#candidates(after) : [all[at]!]) {
      if (this.#steps++ > MOST_STEPS)
        throw new AllocationError(`node ${this.#node.metadata.name}: timed out trying to allocate devices`)
      if (candidate.pool.state !== "complete" || !this.#isFree(asked, claim, candidate)) continue
      if (all === undefined && !this.#fits(asked, candidate)) continue
      const giveBack = this.#take(asked, claim, candidate, all !== undefined)
      if (giveBack === undefined) continue
      const outcome = this.#next({ claim, request, chosen, at: at + 1, after: candidate })
      if (outcome === "done") return outcome
      giveBack()
      if (outcome === "too-many") return outcome
    }
    return "none"
  }

  /** With admin access a device is given beside its user, once for each claim. */
  #isFree({ adminAccess }: Asked, claim: number, { pool, device }: Candidate): boolean {
    const id = deviceId(pool.driver, pool.name, device.name)
    const users = this.#users.get(id)
    if (adminAccess) return users?.has(claim) !== true
    return !this.#input.allocated.whole.has(id) && (users?.size ?? 0) === 0
  }

  /** What the request takes of the device; undefined where that much is not free. */
  #consumption(asked: Asked, { pool, device }: Candidate): Consumption | undefined {
    const consumption = consumptionOf(asked, device)
    if (consumption === undefined || device.allowMultipleAllocations !== true) return consumption
    const id = deviceId(pool.driver, pool.name, device.name)
    return this.#shares.hasRoom(id, device, consumption) ? consumption : undefined
  }

  /** Takes a device, and gives what gives it back; undefined where it cannot be had. */
  #take(asked: Asked, claim: number, candidate: Candidate, must: boolean): (() => void) | undefined {
    const { pool, slice, device } = candidate
    const id = deviceId(pool.driver, pool.name, device.name)
    const isShared = device.allowMultipleAllocations === true
    const consumption = this.#consumption(asked, candidate)
    if (consumption === undefined) return undefined
    if ((device.taints ?? []).some((taint) => prevents(taint, asked))) return undefined
    const undo: (() => void)[] = []
    const giveBack = () => undo.forEach((step) => step())
    // Who shares a device with others takes nothing more of the counters.
    if ((device.consumesCounters ?? []).length > 0 && !(isShared && this.#shares.isUsed(id))) {
      const back = this.#countersOf(pool).take(device.consumesCounters!)
      if (back === undefined) return undefined
      undo.push(back)
    }
    for (const constraint of this.#constraints[claim]!) {
      const back = constraint.add(asked, pool.driver, device)
      if (back !== undefined) {
        undo.push(back)
        continue
      }
      giveBack()
      if (!must) return undefined
      const { metadata } = this.#input.claims[claim]!
      throw new AllocationError(
        `claim ${metadata.namespace}/${metadata.name}, request ${asked.name}: cannot add device ` +
          `${id} because a claim constraint would not be satisfied`,
      )
    }
    if (isShared) undo.push(this.#shares.take(id, consumption))
    else {
      const users = this.#users.get(id) ?? new Set<number>()
      this.#users.set(id, users.add(claim))
      undo.push(() => void users.delete(claim))
    }
    this.#taken[claim]!.push({ asked, driver: pool.driver, pool: pool.name, slice, device, consumption })
    undo.push(() => void this.#taken[claim]!.pop())
    return giveBack
  }

  #countersOf(pool: Pool): Counters {
    let counters = this.#counters.get(pool)
    if (counters === undefined) this.#counters.set(pool, (counters = new Counters(pool, this.#input.allocated)))
    return counters
  }
}

const prevents = (taint: DeviceTaint, { tolerations }: Asked): boolean =>
  (taint.effect === "NoExecute" || taint.effect === "NoSchedule") &&
  !tolerations.some((toleration) => toleratesDeviceTaint(toleration, taint))
