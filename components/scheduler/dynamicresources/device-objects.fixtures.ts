import { seededRandom } from "../../../pkg/clock/random.ts"
import { dynamicResources, type DynamicResources } from "../plugins/dynamicresources.ts"
import { NOTHING_ALLOCATED } from "./allocated-devices.ts"

/** The plugin in a cluster without claims for devices. */
export const withoutDevices = (): DynamicResources =>
  dynamicResources(
    {
      claim: () => undefined,
      slices: () => [],
      deviceClass: () => undefined,
      classOf: () => undefined,
      extendedClaimOf: () => undefined,
      allocated: () => NOTHING_ALLOCATED,
      isPending: () => false,
    },
    { clock: { now: () => 0 }, random: seededRandom(1) },
  )
