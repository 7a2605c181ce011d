import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"

/** The selectors by which a kubelet lists the pods on its node, and its Node. */
export const ownObjects = (nodeName: string): ReadonlyMap<Resource, string> =>
  new Map<Resource, string>([
    [Pod as unknown as Resource, `spec.nodeName=${nodeName}`],
    [Node as unknown as Resource, `metadata.name=${nodeName}`],
  ])
