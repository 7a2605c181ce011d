import { f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

export const PortStatus = message(
  "core.v1.PortStatus",
  "State of a port of a load balancer.",
  {
    port: f.int32(1, "Number of the port.").required(),
    protocol: f.string(2, "Transport protocol.").required().enum("TCP", "UDP", "SCTP"),
    error: f.string(3, "What is wrong with the port.").pointer(),
  },
  { unchecked: true },
)
export interface PortStatus extends ObjectOf<typeof PortStatus> {}

export const LoadBalancerIngress = message(
  "core.v1.LoadBalancerIngress",
  "The addresses of a load balancer.",
  {
    ip: f.string(1, "Address of the load balancer."),
    hostname: f.string(2, "DNS name of the load balancer."),
    ipMode: f.string(3, "VIP or Proxy: how traffic to the address arrives.").pointer(),
    ports: f.list(4, PortStatus, "State of each port.").atomic(),
  },
  {
    defaults: (ingress: { readonly ip?: string; readonly ipMode?: string }): object =>
      ingress.ip && ingress.ipMode === undefined ? { ...ingress, ipMode: "VIP" } : ingress,
  },
)
export interface LoadBalancerIngress extends ObjectOf<typeof LoadBalancerIngress> {}

export const LoadBalancerStatus = message("core.v1.LoadBalancerStatus", "The present state of a load balancer.", {
  ingress: f.list(1, LoadBalancerIngress, "Where traffic is taken.").atomic(),
})
export interface LoadBalancerStatus extends ObjectOf<typeof LoadBalancerStatus> {}
