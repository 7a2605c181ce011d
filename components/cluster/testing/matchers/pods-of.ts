import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Cluster } from "../cluster.ts"

interface WithSelector {
  readonly spec?: { readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> } }
}

/** Returns the pods that an object selects by labels; none for an object without such a selector. */
export async function podsOf(cluster: Cluster, object: KubeObject): Promise<readonly Pod[]> {
  const labels = (object as WithSelector).spec?.selector?.matchLabels
  const { namespace } = object.metadata
  if (labels === undefined || typeof labels !== "object" || namespace === undefined) return []
  const selector = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return cluster.list(Pod, { namespace, labels: selector.join(",") })
}
