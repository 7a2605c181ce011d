import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Index, Informer } from "../../pkg/client/informer.ts"

const byAddress: Index<Pod> = {
  name: "dns/pod-address",
  of: ({ spec, status }) => (spec.hostNetwork === true ? [] : (status?.podIPs ?? []).map(({ ip }) => ip)),
}

/**
 * Returns the names that a pod will query next if `name` does not exist: the rest of its search list applied to the
 * same short name, in order. Empty when the client is not a pod, or `name` is not the first name of its search list.
 * `searches` is the host's search list, which pods have after the cluster's. Source: CoreDNS plugin/autopath.
 */
export function nextNames(
  name: string,
  client: string,
  {
    pods,
    domain,
    searches,
  }: { readonly pods: Informer<Pod>; readonly domain: string; readonly searches: readonly string[] },
): readonly string[] {
  const namespace = pods.by(byAddress, client)[0]?.metadata.namespace
  const first = `.${namespace}.svc.${domain}`
  // The records that lead from one name to the next are encoded from text, without escapes.
  if (namespace === undefined || !name.endsWith(first) || name.includes("\\")) return []
  const short = name.slice(0, -first.length)
  return [`${short}.svc.${domain}`, `${short}.${domain}`, ...searches.map((search) => `${short}.${search}`), short]
}
