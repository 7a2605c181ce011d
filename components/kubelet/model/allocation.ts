import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ResourceRequirements } from "../../../pkg/api/core/v1/resources/resources.ts"
import { byName } from "../../../pkg/cache/by-name.ts"

/** The resources allocated to a pod and each of its containers: the spec at that time. */
export type Allocation = Pod["spec"]

/** Returns the resources allocated to a container, except to an ephemeral one; undefined if there is none of that name. */
export const setAside = (allocation: Allocation, name: string): ResourceRequirements | undefined =>
  (byName(allocation.initContainers, name) ?? byName(allocation.containers, name))?.resources
