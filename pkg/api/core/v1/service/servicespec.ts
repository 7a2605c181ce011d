import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

export const ClientIPConfig = message("core.v1.ClientIPConfig", "How long a client stays with a pod.", {
  timeoutSeconds: f.int32(1, "Seconds for which a client goes to the same pod, up to a day.").pointer(),
})
export interface ClientIPConfig extends ObjectOf<typeof ClientIPConfig> {}

export const SessionAffinityConfig = message("core.v1.SessionAffinityConfig", "Settings of session affinity.", {
  clientIP: f.message(1, ClientIPConfig, "Settings of affinity by client address."),
})
export interface SessionAffinityConfig extends ObjectOf<typeof SessionAffinityConfig> {}

export const ServicePort = message("core.v1.ServicePort", "A port of a Service.", {
  name: f.string(1, "Name of the port; needed when there are several."),
  protocol: f.string(2, "Transport protocol.").default("TCP").enum("TCP", "UDP", "SCTP"),
  appProtocol: f.string(6, "What is spoken over the port, as a hint.").pointer(),
  port: f.int32(3, "Number of the port on the Service's address.").required(),
  targetPort: f.intOrString(4, "Number or name of the port of the pods; the same number when absent."),
  nodePort: f.int32(5, "Port on every node, for NodePort and LoadBalancer."),
})
export interface ServicePort extends ObjectOf<typeof ServicePort> {}

const DEFAULT_AFFINITY_SECONDS = 10800

export const ServiceSpec = message(
  "core.v1.ServiceSpec",
  "The desired state of a Service.",
  {
    ports: f.list(1, ServicePort, "Ports of the Service.").listMap("port", "protocol").merge("port"),
    selector: f
      .map(2, e.string, "Labels of the pods behind the Service; without one, endpoints are managed by others.")
      .atomic(),
    clusterIP: f.string(3, "Virtual address, allotted when empty; `None` for a headless Service."),
    clusterIPs: f.list(18, e.string, "Virtual addresses, one for each family; the first is clusterIP.").atomic(),
    type: f
      .string(4, "How far the Service is exposed.")
      .default("ClusterIP")
      .enum("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    externalIPs: f.list(5, e.string, "Addresses from outside that nodes take traffic on for this Service.").atomic(),
    sessionAffinity: f
      .string(7, "Whether a client stays with a pod.")
      .default("None")
      .enum("None", "ClientIP")
      .ownRule(),
    loadBalancerIP: f.string(8, "Deprecated: requested address of the load balancer."),
    loadBalancerSourceRanges: f.list(9, e.string, "Clients the load balancer lets in, as CIDRs.").atomic(),
    externalName: f.string(10, "DNS name that an ExternalName Service is an alias of."),
    externalTrafficPolicy: f
      .string(11, "Whether traffic from outside may go to pods of other nodes.")
      .enum("Cluster", "Local")
      .ownRule(),
    healthCheckNodePort: f.int32(
      12,
      "Port on which nodes tell the load balancer whether they have pods of the Service.",
    ),
    publishNotReadyAddresses: f.bool(13, "When true, DNS also names pods that are not ready."),
    sessionAffinityConfig: f.message(14, SessionAffinityConfig, "Settings of session affinity."),
    ipFamilies: f.list(19, e.string, "Address families of the Service.").atomic(),
    ipFamilyPolicy: f
      .string(17, "Whether one or two address families are wanted.")
      .enum("SingleStack", "PreferDualStack", "RequireDualStack")
      .pointer(),
    allocateLoadBalancerNodePorts: f.bool(20, "Whether a load balancer gets node ports.").pointer(),
    loadBalancerClass: f.string(21, "Which implementation of load balancers is to act.").pointer(),
    internalTrafficPolicy: f
      .string(22, "Whether traffic from inside may go to pods of other nodes.")
      .enum("Cluster", "Local")
      .pointer(),
    trafficDistribution: f.string(23, "Which endpoints are preferred, as a hint.").pointer(),
  },
  { defaults: (spec: never): object => serviceDefaults(spec) },
)
export interface ServiceSpec extends ObjectOf<typeof ServiceSpec> {}

/** Sets the defaults that depend on other fields. Source: SetDefaults_Service in pkg/apis/core/v1/defaults.go. */
function serviceDefaults(spec: ServiceSpec): ServiceSpec {
  const external = exposes(spec) || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0)
  const affinity =
    spec.sessionAffinity === "ClientIP"
      ? {
          clientIP: {
            timeoutSeconds: spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS,
          },
        }
      : undefined
  return {
    ...without(spec, spec.sessionAffinity === "None" ? "sessionAffinityConfig" : undefined),
    ...(spec.ports === undefined
      ? {}
      : {
          ports: spec.ports.map((port) =>
            port.targetPort === undefined || port.targetPort === 0 || port.targetPort === ""
              ? { ...port, targetPort: port.port }
              : port,
          ),
        }),
    ...(affinity === undefined ? {} : { sessionAffinityConfig: affinity }),
    ...(external && spec.externalTrafficPolicy === undefined ? { externalTrafficPolicy: "Cluster" } : {}),
    ...(spec.type !== "ExternalName" && spec.internalTrafficPolicy === undefined
      ? { internalTrafficPolicy: "Cluster" }
      : {}),
    ...(spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts === undefined
      ? { allocateLoadBalancerNodePorts: true }
      : {}),
  }
}

export function without<T extends object, K extends keyof T>(value: T, key: K | undefined): T {
  if (key === undefined || value[key] === undefined) return value
  const copy = { ...value }
  delete copy[key]
  return copy
}

export const exposes = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer"
