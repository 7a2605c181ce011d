import { isExtendedResource } from "../../core/v1/resources/resource-names.ts"
import type { DeviceClass } from "./deviceclass.ts"

/**
 * Extended resources that pods get through claims, because a DeviceClass provides them. Source: KEP-5004,
 * dynamic-resource-allocation deviceclass/extendedresourcecache.
 */

/**
 * The annotation of the claim that the scheduler creates for a pod's extended resources. Source: resource/v1
 * ExtendedResourceClaimAnnotation.
 */
export const EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"

/** Each class provides the resource `<prefix><class>`. Source: resource/v1 ResourceDeviceClassPrefix. */
export const CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"

/** Returns whether a class could provide the resource. Source: pkg/scheduler/util IsDRAExtendedResourceName. */
export const mayBeClaimed = (resource: string): boolean =>
  isExtendedResource(resource) || resource.startsWith(CLASS_PREFIX)

/** Returns the resources that the class provides. */
export const resourcesOfClass = ({ metadata, spec }: DeviceClass): readonly string[] =>
  spec.extendedResourceName === undefined
    ? [CLASS_PREFIX + metadata.name]
    : [CLASS_PREFIX + metadata.name, spec.extendedResourceName]

/** Returns which one of the classes with the same resource provides it: the newest, so that a class can be replaced. */
export function preferredClass(classes: readonly DeviceClass[]): DeviceClass | undefined {
  let best: DeviceClass | undefined
  for (const one of classes) if (best === undefined || isPreferred(one, best)) best = one
  return best
}

function isPreferred({ metadata: one }: DeviceClass, { metadata: other }: DeviceClass): boolean {
  const [made, madeOther] = [one.creationTimestamp ?? "", other.creationTimestamp ?? ""]
  return made === madeOther ? (one.name ?? "") < (other.name ?? "") : made > madeOther
}
