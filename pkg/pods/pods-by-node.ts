import type { Pod } from "../api/core/v1/pod/pod.ts"

/**
 * Pods by the node they are bound to; pods that are not bound stand under the empty name. An Index of
 * pkg/client/informer.ts.
 */
export const podsByNode = {
  name: "spec.nodeName",
  of: (pod: Pod): readonly string[] => [pod.spec.nodeName ?? ""],
}
