import type { NodeSelector } from "../../../pkg/api/core/v1/pod/scheduling/affinity.ts"
import type { AllocationResult, DeviceAllocationConfiguration } from "../../../pkg/api/resource/v1/allocation.ts"
import type { Device } from "../../../pkg/api/resource/v1/device.ts"
import type { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import type { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { formatQuantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { AllocatorInput } from "./allocator-input.ts"
import type { Consumption } from "./capacity.ts"
import { alternativesOf, type Asked } from "./requests.ts"

/** A device that a claim gets. */
export interface Taken {
  readonly asked: Asked
  readonly driver: string
  readonly pool: string
  readonly slice: ResourceSlice
  readonly device: Device
  /** What is taken of a device that several claims share. */
  readonly consumption: Consumption
}

/** What stands in the status of a claim that gets these devices. Source: Allocate, createNodeSelector. */
export function allocationOf(
  claim: ResourceClaim,
  taken: readonly Taken[],
  node: Node,
  { deviceClass, shareId }: Pick<AllocatorInput, "deviceClass" | "shareId">,
): AllocationResult {
  const results = taken.map(({ asked, driver, pool, device, consumption }) => ({
    request: asked.name,
    driver,
    pool,
    device: device.name,
    ...(asked.adminAccess ? { adminAccess: true } : {}),
    ...(asked.tolerations.length > 0 ? { tolerations: asked.tolerations } : {}),
    ...(device.bindingConditions === undefined ? {} : { bindingConditions: device.bindingConditions }),
    ...(device.bindingFailureConditions === undefined
      ? {}
      : { bindingFailureConditions: device.bindingFailureConditions }),
    ...(device.allowMultipleAllocations === true ? { shareID: shareId(), ...consumedBy(consumption) } : {}),
  }))
  const config = configOf(claim, chosenOf(claim, taken), deviceClass)
  const nodeSelector = nodeSelectorOf(taken, node)
  return {
    devices: { results, ...(config.length === 0 ? {} : { config }) },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  }
}

const consumedBy = (consumption: Consumption) =>
  consumption.size === 0
    ? {}
    : { consumedCapacity: Object.fromEntries([...consumption].map(([name, amount]) => [name, formatQuantity(amount)])) }

/** What was asked for in the end, of each request. */
const chosenOf = ({ spec }: ResourceClaim, taken: readonly Taken[]): readonly Asked[] =>
  (spec.devices.requests ?? []).flatMap(
    (request) => taken.find(({ asked }) => asked.request === request.name)?.asked ?? alternativesOf(request)[0] ?? [],
  )

/** What drivers are told: of each class once, then of the claim. */
function configOf(
  { spec }: ResourceClaim,
  chosen: readonly Asked[],
  deviceClass: (name: string) => DeviceClass | undefined,
): readonly DeviceAllocationConfiguration[] {
  const classes = [...new Set(chosen.map(({ deviceClassName }) => deviceClassName))]
  const ofClasses = classes.flatMap((name) => {
    const requests = chosen.filter(({ deviceClassName }) => deviceClassName === name).map((asked) => asked.name)
    return (deviceClass(name)?.spec.config ?? []).map((config) => ({
      ...config,
      source: "FromClass" as const,
      requests,
    }))
  })
  const ofClaim = (spec.devices.config ?? []).flatMap((config) => {
    const { requests = [] } = config
    const times =
      requests.length === 0
        ? 1
        : chosen.filter(({ name, request }) => requests.includes(request) || requests.includes(name)).length
    return Array.from({ length: times }, () => ({ ...config, source: "FromClaim" as const }))
  })
  return [...ofClasses, ...ofClaim]
}

/** The nodes that reach all of the devices; undefined where every node does. */
function nodeSelectorOf(taken: readonly Taken[], { metadata: { name = "" } }: Node): NodeSelector | undefined {
  const places = taken.map(({ slice, device }) => (slice.spec.perDeviceNodeSelection === true ? device : slice.spec))
  if (places.some(({ nodeName = "" }) => nodeName !== "") || taken.some(({ device }) => device.bindsToNode === true))
    return { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] }] }
  const terms = places.flatMap(({ nodeSelector }) => nodeSelector?.nodeSelectorTerms[0] ?? [])
  const matchFields = unique(terms.flatMap((term) => term.matchFields ?? []))
  const matchExpressions = unique(terms.flatMap((term) => term.matchExpressions ?? []))
  if (matchFields.length === 0 && matchExpressions.length === 0) return undefined
  return {
    nodeSelectorTerms: [
      {
        ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
        ...(matchFields.length === 0 ? {} : { matchFields }),
      },
    ],
  }
}

const unique = <T>(all: readonly T[]): readonly T[] =>
  all.filter((one, i) => all.findIndex((other) => deepEqual(other, one)) === i)
