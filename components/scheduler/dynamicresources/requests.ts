import type {
  CapacityRequirements,
  DeviceRequest,
  DeviceSelector,
  DeviceToleration,
} from "../../../pkg/api/resource/v1/deviceclaim.ts"

/** One request of a claim, or one of the alternatives of a request. */
export interface Asked {
  /** `<namespace>/<name>` of the claim, for messages; absent where only the request is of interest. */
  readonly claim?: string
  /** `<request>`, or `<request>/<alternative>`. */
  readonly name: string
  /** Name of the request itself. */
  readonly request: string
  readonly deviceClassName: string
  readonly selectors: readonly DeviceSelector[]
  readonly all: boolean
  readonly count: number
  readonly adminAccess: boolean
  readonly tolerations: readonly DeviceToleration[]
  readonly capacity: CapacityRequirements["requests"]
}

/** The alternatives of a request, the most wanted first: one where it is for devices of one kind. */
export function alternativesOf({ name, exactly, firstAvailable = [] }: DeviceRequest): readonly Asked[] {
  if (exactly !== undefined)
    return [{ ...askedOf(exactly), name, request: name, adminAccess: exactly.adminAccess === true }]
  return firstAvailable.map((one) => ({
    ...askedOf(one),
    name: `${name}/${one.name}`,
    request: name,
    adminAccess: false,
  }))
}

const askedOf = ({
  deviceClassName,
  selectors = [],
  allocationMode,
  count = 0,
  tolerations = [],
  capacity,
}: NonNullable<DeviceRequest["firstAvailable"]>[number] | NonNullable<DeviceRequest["exactly"]>) => ({
  deviceClassName,
  selectors,
  all: allocationMode === "All",
  count,
  tolerations,
  capacity: capacity?.requests,
})
