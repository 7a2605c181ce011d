import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Index } from "../../../pkg/client/informer.ts"
import { allResourceClaimNames } from "../../../pkg/pods/resource-claims.ts"

/** Pods, by the keys of the claims for devices that they use. */
export const podsByResourceClaim: Index<Pod> = {
  name: "resource-claims",
  of: (pod) => allResourceClaimNames(pod).map((name) => `${pod.metadata.namespace}/${name}`),
}
