/** Why no devices are allocated for a pod, where all that it names exists: the scheduler says only that it cannot. */
import { DeviceSelectors, SelectorError } from "../../../api/resource/v1/device-selectors.ts"
import type { Device } from "../../../api/resource/v1/device.ts"
import type { DeviceRequest, DeviceSelector, ExactDeviceRequest } from "../../../api/resource/v1/deviceclaim.ts"
import type { ResourceClaim } from "../../../api/resource/v1/resourceclaim.ts"
import type { ResourceSlice } from "../../../api/resource/v1/resourceslice.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import { exactKey } from "../../../cache/exact-key.ts"
import { largest } from "../../../lists/extremes.ts"
import { PatternBudget } from "../../../re2/limits.ts"
import { finding, type Finding } from "../../answer.ts"
import type { Ward } from "../../doctor.ts"
import { DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES } from "../../reading/kinds.ts"

/** A device that a driver has published. */
interface Published {
  readonly driver: string
  readonly pool: string
  /** The node that has it; "" for one that several nodes reach. */
  readonly node: string
  readonly device: Device
}

/** How many claims that have devices are named. */
const MOST_NAMED = 5

/** Returns why a claim of the pod gets no devices; nothing where devices are free, and the reason is another one. */
export async function deviceShortage({ spec, status, metadata }: Pod, ward: Ward): Promise<readonly Finding[]> {
  const wanted = spec.resourceClaims ?? []
  if (wanted.length === 0) return []
  const slices = await ward.reader.listIfAllowed(RESOURCE_SLICES)
  const claims = await ward.reader.listIfAllowed(RESOURCE_CLAIMS)
  if (slices === undefined || claims === undefined) return []
  const published = publishedBy(slices)
  const takers = takersOf(claims)
  const made = new Map((status.resourceClaimStatuses ?? []).map((one) => [one.name, one.resourceClaimName]))
  for (const { name, resourceClaimName } of wanted) {
    const own = resourceClaimName ?? made.get(name)
    const claim = claims.find((one) => one.metadata.name === own && one.metadata.namespace === metadata.namespace)
    if (claim === undefined || claim.status.allocation !== undefined) continue
    for (const request of claim.spec.devices.requests ?? []) {
      const found = await shortageOf(claim, request, published, takers, ward)
      if (found !== undefined) return [found]
    }
  }
  return []
}

async function shortageOf(
  claim: ResourceClaim,
  { name, exactly }: DeviceRequest,
  published: readonly Published[],
  takers: ReadonlyMap<string, ResourceClaim>,
  ward: Ward,
): Promise<Finding | undefined> {
  // Of alternatives each would have to be told.
  if (exactly === undefined) return undefined
  const { deviceClassName, selectors = [], count = 1 } = exactly
  const who = `request ${name} of ResourceClaim ${claim.metadata.namespace}/${claim.metadata.name}`
  if (published.length === 0)
    return finding("devices-missing", `${who} wants ${count} of DeviceClass ${deviceClassName}, and there are none`, {
      evidence: ["no driver has published devices: there is no ResourceSlice"],
      hints: ["see whether the driver of the devices runs on the nodes that have them"],
    })
  const deviceClass = await ward.reader.get(DEVICE_CLASSES, undefined, deviceClassName)
  if (deviceClass === undefined) return undefined
  const ofClass = fitting(published, deviceClass.spec.selectors ?? [])
  if (typeof ofClass === "string")
    return finding("device-selector-fails", `a selector of DeviceClass ${deviceClassName} fails: ${ofClass}`)
  const drivers = [...new Set(published.map(({ driver }) => driver))].join(", ")
  if (ofClass.length === 0)
    return finding(
      "device-class-without-devices",
      `${who} wants ${count} of DeviceClass ${deviceClassName}, whose selectors fit none of the ${published.length} devices (of ${drivers})`,
      { evidence: (deviceClass.spec.selectors ?? []).map((one) => `selector: ${expressionOf(one)}`) },
    )
  const wanted = selectors.map(expressionOf)
  const fits = fitting(ofClass, selectors)
  if (typeof fits === "string")
    return finding("device-selector-fails", `a selector of ${who} fails: ${fits}`, {
      evidence: wanted.map((one) => `selector: ${one}`),
      hints: ["ask whether a device has what is compared, before it is compared"],
    })
  if (fits.length === 0)
    return finding(
      "device-selector-fits-none",
      `none of the ${ofClass.length} devices of DeviceClass ${deviceClassName} is what ${who} selects: ${wanted.join(" && ")}`,
      { evidence: ofClass.slice(0, MOST_NAMED).map(inWords), hints: ["correct the selectors of the claim"] },
    )
  return tooFew(who, exactly, fits, takers)
}

/** Returns that no node has enough of the devices that fit, or not enough that are free. */
function tooFew(
  who: string,
  { allocationMode, count = 1, adminAccess, deviceClassName }: ExactDeviceRequest,
  fits: readonly Published[],
  takers: ReadonlyMap<string, ResourceClaim>,
): Finding | undefined {
  const isShared = fits.some(({ node, device }) => node === "" || device.allowMultipleAllocations === true)
  if (allocationMode === "All" || adminAccess === true || isShared) return undefined
  const perNode = [...Map.groupBy(fits, ({ node }) => node)]
  const free = (of: readonly Published[]) => of.filter((one) => !takers.has(keyOf(one))).length
  if (largest(perNode.map(([, of]) => free(of))) >= count) return undefined
  const most = largest(perNode.map(([, of]) => of.length))
  const lines = perNode.map(([node, of]) => `node ${node} has ${of.length} that fit, ${free(of)} of them free`)
  if (most < count)
    return finding(
      "devices-too-few",
      `${who} wants ${count} of DeviceClass ${deviceClassName} on a node, and no node has more than ${most} that fit`,
      { evidence: lines },
    )
  const holders = [...new Set(fits.flatMap((one) => takers.get(keyOf(one)) ?? []))]
  const named = holders.slice(0, MOST_NAMED).map(({ metadata, status }) => {
    const users = (status.reservedFor ?? []).map(({ resource, name }) => `${resource} ${name}`).join(", ")
    return `${metadata.namespace}/${metadata.name}${users === "" ? "" : ` (used by ${users})`}`
  })
  return finding(
    "devices-taken",
    `${who} wants ${count} of DeviceClass ${deviceClassName}, and those that fit are taken, by ResourceClaim ${named.join(", ")}`,
    { evidence: lines, hints: ["end what uses them, or add devices"] },
  )
}

/**
 * Returns the devices that meet the selectors, or why these cannot be asked. As in the scheduler, the patterns that
 * they compute have one bound for all devices.
 */
function fitting(published: readonly Published[], selectors: readonly DeviceSelector[]): readonly Published[] | string {
  const [asked, patterns] = [new DeviceSelectors(), new PatternBudget()]
  try {
    return published.filter(({ driver, device }) => asked.match(selectors, driver, device, patterns))
  } catch (err) {
    if (err instanceof SelectorError) return err.message
    throw err
  }
}

/** Returns the devices of the newest generation of each pool. */
function publishedBy(slices: readonly ResourceSlice[]): readonly Published[] {
  const poolOf = ({ spec: { driver, pool } }: ResourceSlice) => exactKey([driver, pool.name])
  const newest = new Map<string, number>()
  for (const slice of slices)
    newest.set(poolOf(slice), Math.max(newest.get(poolOf(slice)) ?? 0, slice.spec.pool.generation))
  return slices
    .filter((slice) => slice.spec.pool.generation === newest.get(poolOf(slice)))
    .flatMap(({ spec: { driver, pool, nodeName, devices = [] } }) =>
      devices.map((device) => ({ driver, pool: pool.name, node: nodeName ?? device.nodeName ?? "", device })),
    )
}

/** Returns the claims by the devices that were allocated for them. */
const takersOf = (claims: readonly ResourceClaim[]): ReadonlyMap<string, ResourceClaim> =>
  new Map(
    claims.flatMap((claim) =>
      (claim.status.allocation?.devices.results ?? []).map(
        ({ driver, pool, device }) => [exactKey([driver, pool, device]), claim] as const,
      ),
    ),
  )

const keyOf = ({ driver, pool, device }: Published): string => exactKey([driver, pool, device.name])

const expressionOf = ({ cel }: DeviceSelector): string => cel?.expression ?? ""

function inWords({ node, device: { name, attributes = {} } }: Published): string {
  const has = Object.entries(attributes).map(
    ([key, { string, int, bool, version }]) => `${key}=${string ?? int ?? bool ?? version ?? ""}`,
  )
  return `device ${name}${node === "" ? "" : ` of node ${node}`}: ${has.join(", ") || "has no attributes"}`
}
