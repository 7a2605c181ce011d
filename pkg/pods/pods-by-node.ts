import type { Pod } from "../api/core/v1/pod/pod.ts"

/**
 * An index (see pkg/client/informer.ts) of pods by the node they are bound to. Unbound pods are under the empty name.
 */
export const podsByNode = {
  name: "spec.nodeName",
  of: (pod: Pod): readonly string[] => [pod.spec.nodeName ?? ""],
}
