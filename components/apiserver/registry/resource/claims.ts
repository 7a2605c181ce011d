import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import type { AllocatedDeviceStatus, AllocationResult } from "../../../../pkg/api/resource/v1/allocation.ts"
import { deviceKey } from "../../../../pkg/api/resource/v1/allocation-validation.ts"
import type { DeviceClaim } from "../../../../pkg/api/resource/v1/deviceclaim.ts"
import type { ResourceClaim } from "../../../../pkg/api/resource/v1/resourceclaim.ts"
import type { ResourceClaimTemplate } from "../../../../pkg/api/resource/v1/resourceclaimtemplate.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { ApiError, invalid, type Cause } from "../../../../pkg/apimachinery/errors.ts"
import { forbiddenField } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import type { Storage } from "../../../../pkg/storage/storage.ts"
import { authorize } from "../../authorization/authorize.ts"
import type { Decider } from "../../authorization/authorizer.ts"
import { storageKey } from "../../cacher/view.ts"
import type { ApiRequest } from "../../call/request.ts"
import type { KindHooks } from "../context.ts"

/**
 * Checks who may claim devices with admin access, allocate devices, and write the status of devices. Source:
 * pkg/registry/resource/utils.go.
 */

const ADMIN_LABEL = "resource.kubernetes.io/admin-access"
const NODE_OF_ACCOUNT = "authentication.kubernetes.io/node-name"

interface Tools {
  readonly storage: Storage
  readonly decider: Decider
}

export const claimHooks = (storage: Storage): KindHooks<ResourceClaim> => ({
  checkWrite(request, claim, old, decider) {
    const tools = { storage, decider }
    const causes =
      request.subresource === "status" && old !== undefined
        ? statusCauses(tools, request, claim, old)
        : old === undefined
          ? adminCauses(tools, request, claim.spec.devices)
          : []
    if (causes.length > 0) throw invalid(request.resource, claim.metadata.name ?? "", causes)
  },
})

export const claimTemplateHooks = (storage: Storage): KindHooks<ResourceClaimTemplate> => ({
  checkWrite(request, { spec, metadata }, old) {
    const causes = old === undefined ? adminCauses({ storage }, request, spec.spec.devices) : []
    if (causes.length > 0) throw invalid(request.resource, metadata.name ?? "", causes)
  },
})

const NEEDS_LABEL = `admin access to devices requires the \`${ADMIN_LABEL}: true\` label on the containing namespace`

function isForAdmins({ storage }: Pick<Tools, "storage">, { namespace = "" }: ApiRequest): boolean {
  return storage.get(storageKey(Namespace, { name: namespace }))?.object.metadata.labels?.[ADMIN_LABEL] === "true"
}

function adminCauses(tools: Pick<Tools, "storage">, request: ApiRequest, { requests }: DeviceClaim): readonly Cause[] {
  const asks = (requests ?? []).findIndex(({ exactly }) => exactly?.adminAccess === true)
  return asks < 0 || isForAdmins(tools, request)
    ? []
    : [forbiddenField(`spec.devices.requests[${asks}].adminAccess`, NEEDS_LABEL)]
}

function statusCauses(
  tools: Tools,
  request: ApiRequest,
  { status }: ResourceClaim,
  { status: old }: ResourceClaim,
): readonly Cause[] {
  const causes: Cause[] = []
  const grants = (allocation: AllocationResult | undefined) =>
    (allocation?.devices.results ?? []).findIndex(({ adminAccess }) => adminAccess === true)
  const granted = grants(status.allocation)
  if (granted >= 0 && grants(old.allocation) < 0 && !isForAdmins(tools, request))
    causes.push(forbiddenField(`status.allocation.devices.results[${granted}].adminAccess`, NEEDS_LABEL))
  const isBound = deepEqual(status.allocation, old.allocation) && deepEqual(status.reservedFor, old.reservedFor)
  const unbindable = isBound ? undefined : refusalOf(tools, request, request.verb, "binding")
  if (unbindable !== undefined)
    causes.push(
      forbiddenField(
        "status.allocation",
        `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${request.verb}" permission: ${unbindable}`,
      ),
    )
  if (status.allocation === undefined) return causes
  const verbs = driverVerbs(request, status.allocation)
  for (const driver of changedDrivers(status.devices, old.devices)) {
    const refusals = verbs.map((verb) => refusalOf(tools, request, verb, "driver", driver))
    if (refusals.includes(undefined)) continue
    causes.push(
      forbiddenField(
        "status.devices",
        `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(" ")}]" permission: ${refusals[0]}`,
      ),
    )
  }
  return causes
}

/**
 * Asks the authorizer about `binding` in all namespaces, and about `driver` in the namespace and by the driver's name.
 * Returns the message of its refusal; undefined if the write is allowed.
 */
function refusalOf(
  { decider }: Tools,
  { user, namespace, resource: { group, version } }: ApiRequest,
  verb: string,
  subresource: "binding" | "driver",
  name?: string,
): string | undefined {
  const place = name === undefined ? {} : { namespace, name }
  try {
    authorize(decider, { user, verb, group, version, resource: "resourceclaims", subresource, ...place })
    return undefined
  } catch (err) {
    if (err instanceof ApiError) return err.message
    throw err
  }
}

/** Returns the verbs that allow a write: a driver needs less to write about its own node than about all nodes. */
function driverVerbs({ user, verb }: ApiRequest, { nodeSelector }: AllocationResult): readonly string[] {
  const [term, ...others] = nodeSelector?.nodeSelectorTerms ?? []
  const [field, ...more] = term?.matchFields ?? []
  const isOne = others.length === 0 && more.length === 0 && (term?.matchExpressions ?? []).length === 0
  const node =
    isOne && field?.key === "metadata.name" && field.operator === "In" && field.values?.length === 1
      ? field.values[0]
      : undefined
  const own = user.extra?.[NODE_OF_ACCOUNT] ?? []
  const isOwn =
    node !== undefined && own.length === 1 && own[0] === node && user.name.startsWith("system:serviceaccount:")
  return isOwn ? [`associated-node:${verb}`, `arbitrary-node:${verb}`] : [`arbitrary-node:${verb}`]
}

function changedDrivers(
  devices: readonly AllocatedDeviceStatus[] = [],
  old: readonly AllocatedDeviceStatus[] = [],
): readonly string[] {
  const before = new Map(old.map((device) => [deviceKey(device), device]))
  const now = new Map(devices.map((device) => [deviceKey(device), device]))
  const changed = new Set<string>()
  for (const [key, device] of now) if (!deepEqual(device, before.get(key))) changed.add(device.driver)
  for (const [key, device] of before) if (!now.has(key)) changed.add(device.driver)
  return [...changed].sort()
}
