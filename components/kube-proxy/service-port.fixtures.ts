import { familyOf } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { ServicePort } from "./service-ports.ts"
import type { Endpoint } from "./topology.ts"

/** Returns an endpoint at port 8080. */
export const sampleEndpoint = (ip: string, local = true): Endpoint => ({ ip, port: 8080, local })

/** Returns port `http` of a Service `default/web` with an endpoint on this node and one elsewhere. */
export function samplePort(more: Partial<ServicePort> = {}): ServicePort {
  const cluster = more.cluster ?? [sampleEndpoint("10.42.0.5"), sampleEndpoint("10.42.1.6", false)]
  return {
    name: "default/web:http",
    family: familyOf(more.clusterIp ?? "10.43.0.9"),
    protocol: "tcp",
    clusterIp: "10.43.0.9",
    port: 80,
    nodePort: undefined,
    externalIps: [],
    loadBalancerIps: [],
    sourceRanges: [],
    affinitySeconds: undefined,
    internalLocal: false,
    externalLocal: false,
    healthCheckNodePort: undefined,
    readyHere: cluster.filter(({ local }) => local).map(({ ip }) => ip),
    cluster,
    local: cluster.filter(({ local }) => local),
    ...more,
  }
}
