import type { ResourceClaim } from "../../../pkg/api/core/v1/resources/resources.ts"
import type { ResourceHealth, ResourceStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import type { DeviceHealths } from "./device-health.ts"
import type { DraDevice } from "./dra-service.ts"
import type { PreparedClaim } from "./prepared-claims.ts"

/**
 * Returns the health of the devices that a container gets by `used`, one of its claims, as its status shows it;
 * undefined when it gets none. Source: pkg/kubelet/cm/dra/manager.go UpdateAllocatedResourcesStatus.
 */
export function resourceStatus(
  { name, request = "" }: ResourceClaim,
  drivers: PreparedClaim["drivers"],
  healths: Pick<DeviceHealths, "of">,
): ResourceStatus | undefined {
  // Drivers name the request alone, without the subrequest that was chosen.
  const [wanted = ""] = request.split("/")
  /** By resourceID: several devices may share one. */
  const found = new Map<string, ResourceHealth>()
  for (const [driver, devices] of drivers)
    for (const device of devices) {
      const { requestNames } = device
      if (wanted !== "" && requestNames.length > 0 && !requestNames.includes(wanted)) continue
      const resourceID = idOf(driver, device)
      if (found.has(resourceID)) continue
      const { health, message } = healths.of(driver, device)
      found.set(resourceID, { resourceID, health, ...(message === "" ? {} : { message }) })
    }
  if (found.size === 0) return undefined
  return { name: request === "" ? `claim:${name}` : `claim:${name}/${request}`, resources: [...found.values()] }
}

const idOf = (driver: string, { cdiDeviceIds: [cdi], poolName, deviceName }: DraDevice): string =>
  cdi ?? `${driver}/${poolName}/${deviceName}`
