import type { Pod } from "../../pkg/api/core/v1/pod.ts"
import type { PodIdentity } from "./volumes.ts"

export const identityOf = ({ metadata: { uid = "", namespace = "default", name = "" } }: Pod): PodIdentity => ({
  uid,
  namespace,
  name,
})
