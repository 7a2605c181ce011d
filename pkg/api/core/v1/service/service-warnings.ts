import { isIP } from "node:net"
import { addressWarnings, rangeWarnings } from "../../../../apimachinery/addresses/address-warnings.ts"
import type { KubeObject } from "../../../../apimachinery/resource.ts"
import { TOPOLOGY_HINTS, TOPOLOGY_MODE } from "./service-validation.ts"
import type { ServiceSpec } from "./servicespec.ts"

/** Returns warnings about fields that are valid but have no effect. Source: pkg/api/service/warnings.go. */
export function serviceWarnings({
  metadata: { annotations = {} },
  spec,
}: KubeObject & { readonly spec: ServiceSpec }): readonly string[] {
  const {
    type,
    clusterIP = "",
    clusterIPs = [],
    loadBalancerSourceRanges = [],
    loadBalancerIP = "",
    externalIPs = [],
    sessionAffinity,
    externalName = "",
    trafficDistribution,
  } = spec
  const headless = type === "ClusterIP" && clusterIP === "None"
  return [
    ...(annotations[TOPOLOGY_HINTS] === undefined
      ? []
      : [`annotation ${TOPOLOGY_HINTS} is deprecated, please use ${TOPOLOGY_MODE} instead`]),
    ...(clusterIP === "" || clusterIP === "None"
      ? []
      : clusterIPs.flatMap((ip, i) => addressWarnings(`spec.clusterIPs[${i}]`, ip))),
    ...(headless && loadBalancerIP !== "" ? ["spec.loadBalancerIP is ignored for headless services"] : []),
    ...(headless && externalIPs.length > 0 ? ["spec.externalIPs is ignored for headless services"] : []),
    ...(headless && sessionAffinity !== "None" ? ["spec.SessionAffinity is ignored for headless services"] : []),
    ...externalIPs.flatMap((ip, i) => addressWarnings(`spec.externalIPs[${i}]`, ip)),
    ...(externalIPs.length > 0 && !headless && type !== "ExternalName"
      ? ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"]
      : []),
    ...(isIP(loadBalancerIP) === 6 ? addressWarnings("spec.loadBalancerIP", loadBalancerIP) : []),
    ...loadBalancerSourceRanges.flatMap((range, i) =>
      rangeWarnings(`spec.loadBalancerSourceRanges[${i}]`, range.trim()),
    ),
    ...(type === "ExternalName" && externalIPs.length > 0
      ? ['spec.externalIPs is ignored when spec.type is "ExternalName"']
      : []),
    ...(type !== "ExternalName" && externalName !== ""
      ? ['spec.externalName is ignored when spec.type is not "ExternalName"']
      : []),
    ...(trafficDistribution === "PreferClose"
      ? ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']
      : []),
  ]
}
