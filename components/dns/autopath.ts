import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Index, Informer } from "../../pkg/client/informer.ts"

const byAddress: Index<Pod> = {
  name: "dns/pod-address",
  of: ({ spec, status }) => (spec.hostNetwork === true ? [] : (status?.podIPs ?? []).map(({ ip }) => ip)),
}

/**
 * The names that a pod will ask for next if the one that it has asked for is not there: what its search list makes of
 * the same short name, in order. Empty where the client is no pod, or the name is not the first of its search list.
 * `searches`: the host's own search list, which pods have after the cluster's. Source: CoreDNS plugin/autopath.
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
  if (namespace === undefined || !name.endsWith(first)) return []
  const short = name.slice(0, -first.length)
  return [`${short}.svc.${domain}`, `${short}.${domain}`, ...searches.map((search) => `${short}.${search}`), short]
}
