import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { Condition } from "../../../../apimachinery/meta.ts"
import { isDNS1123Label } from "../../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import {
  exposes,
  loadBalancerStatusFaults,
  needsHealthPort,
  serviceChangeFaults,
  serviceFaults,
} from "./service-validation.ts"
import { serviceWarnings } from "./service-warnings.ts"

/**
 * Source: k8s.io/api core/v1/types.go, SetDefaults_Service, pkg/registry/core/service/strategy.go, ValidateService in
 * pkg/apis/core/validation. Addresses and node ports are allotted by the registry.
 */

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
  "What is wanted of a Service.",
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
    loadBalancerIP: f.string(8, "Deprecated: wished address of the load balancer."),
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
    ipFamilyPolicy: f
      .string(17, "Whether one or two address families are wanted.")
      .enum("SingleStack", "PreferDualStack", "RequireDualStack")
      .pointer(),
    ipFamilies: f.list(19, e.string, "Address families of the Service.").atomic(),
    allocateLoadBalancerNodePorts: f.bool(20, "Whether a load balancer gets node ports.").pointer(),
    loadBalancerClass: f.string(21, "Which implementation of load balancers is to act.").pointer(),
    internalTrafficPolicy: f
      .string(22, "Whether traffic from inside may go to pods of other nodes.")
      .enum("Cluster", "Local")
      .pointer(),
    trafficDistribution: f.string(23, "A wish which endpoints are preferred.").pointer(),
  },
  { defaults: (spec: never): object => serviceDefaults(spec) },
)
export interface ServiceSpec extends ObjectOf<typeof ServiceSpec> {}

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
  "Where a load balancer takes traffic.",
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

export const ServiceStatus = message(
  "core.v1.ServiceStatus",
  "The present state of a Service.",
  {
    loadBalancer: f.message(1, LoadBalancerStatus, "State of the load balancer.").always(),
    conditions: f.list(2, Condition, "Aspects of the state.").listMap("type").merge("type"),
  },
  { unchecked: true },
)
export interface ServiceStatus extends ObjectOf<typeof ServiceStatus> {}

const fields = {
  spec: f.message(2, ServiceSpec, "What is wanted of the Service.").always(),
  status: f.message(3, ServiceStatus, "The present state of the Service.").always(),
}
export interface Service extends ObjectFor<typeof fields> {}

export const Service = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Service",
    plural: "services",
    shortNames: ["svc"],
    categories: ["all"],
    scope: "Namespaced",
    doc: "One address and name for a set of pods.",
    returnsDeletedObject: true,
    subresources: {
      status: {
        validateUpdate: ({ spec, status }, old) =>
          loadBalancerStatusFaults(status.loadBalancer, spec, old.status.loadBalancer),
      },
      other: { proxy: { verbs: ["create", "delete", "get", "patch", "update"], kind: "ServiceProxyOptions" } },
    },
    columns: [
      { name: "Type", type: "string", doc: "How far the Service is exposed.", value: (service) => service.spec.type },
      {
        name: "Cluster-IP",
        type: "string",
        doc: "Virtual address.",
        value: ({ spec }) => spec.clusterIPs?.[0] ?? (spec.clusterIP || undefined),
      },
      {
        name: "External-IP",
        type: "string",
        doc: "Addresses from outside.",
        value: (service) => externalAddresses(service),
      },
      {
        name: "Port(s)",
        type: "string",
        doc: "Ports, and their node ports.",
        value: ({ spec }) => portsText(spec.ports ?? []),
      },
      {
        name: "Selector",
        type: "string",
        priority: 1,
        doc: "Labels of the pods behind it.",
        value: ({ spec }) => labelsText(spec.selector ?? {}),
      },
    ],
    fieldSelectors: { "spec.clusterIP": ({ spec }) => spec.clusterIP ?? "", "spec.type": ({ spec }) => spec.type },
    validateName: isDNS1123Label,
    allowCreateOnUpdate: true,
    prepareForCreate: (service) => ({ ...service, spec: withAddressList(service.spec, undefined) }),
    prepareForUpdate: (service, old) => ({
      ...service,
      spec: keptAddresses(droppedByType(service.spec, old.spec), old.spec),
    }),
    validateCreate: (service) => serviceFaults(service),
    validateUpdate: (service, old) => serviceChangeFaults(service, old),
    warnings: (service) => serviceWarnings(service),
  },
  fields,
)

/** Defaults that hang together. Source: SetDefaults_Service in pkg/apis/core/v1/defaults.go. */
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

function without<T extends object, K extends keyof T>(value: T, key: K | undefined): T {
  if (key === undefined || value[key] === undefined) return value
  const copy = { ...value }
  delete copy[key]
  return copy
}

/**
 * What only the former type needed goes with it, unless the update changes it too: then validation says what is wrong.
 * So a client can change nothing but the type. Source: dropTypeDependentFields in
 * pkg/registry/core/service/strategy.go.
 */
function droppedByType(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const dropped = new Set<keyof ServiceSpec>()
  const drop = (...names: readonly (keyof ServiceSpec)[]) => {
    for (const name of names) if (deepEqual(spec[name], old[name])) dropped.add(name)
  }
  if (old.type !== "ExternalName" && spec.type === "ExternalName")
    drop("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
  if (exposes(old) && !exposes(spec) && (spec.externalIPs ?? []).length === 0) drop("externalTrafficPolicy")
  if (needsHealthPort(old) && !needsHealthPort(spec)) drop("healthCheckNodePort")
  if (old.type === "LoadBalancer" && spec.type !== "LoadBalancer")
    drop("allocateLoadBalancerNodePorts", "loadBalancerClass")
  const former = new Set((old.ports ?? []).map(({ nodePort }) => nodePort))
  const unexposed =
    exposes(old) && !exposes(spec) && (spec.ports ?? []).every(({ nodePort }) => !nodePort || former.has(nodePort))
  const ports = unexposed ? spec.ports?.map((port) => without(port, "nodePort")) : undefined
  return {
    ...[...dropped].reduce<ServiceSpec>((kept, name) => without(kept, name), spec),
    ...(ports === undefined ? {} : { ports }),
  }
}

/**
 * What a client left out of an update stays: old clients know neither lists nor node ports. Source:
 * patchAllocatedValues and normalizeClusterIPs in pkg/registry/core/service/storage.
 */
function keptAddresses(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const virtual = spec.type !== "ExternalName" && old.type !== "ExternalName"
  const exposed = exposes(spec) && exposes(old)
  let kept = spec
  if (virtual && !spec.clusterIP && old.clusterIP)
    kept = {
      ...kept,
      clusterIP: old.clusterIP,
      ...((kept.clusterIPs ?? []).length === 0 ? { clusterIPs: old.clusterIPs } : {}),
    }
  if (virtual && (kept.clusterIPs ?? []).length === 0 && kept.clusterIP === old.clusterIP)
    kept = { ...kept, clusterIPs: old.clusterIPs }
  kept = withAddressList(kept, old)
  if (exposed && kept.ports !== undefined) {
    const nodePorts = new Map((old.ports ?? []).map((port) => [`${port.protocol} ${port.port}`, port.nodePort]))
    const taken = new Set(kept.ports.map((port) => `${port.protocol} ${port.nodePort ?? 0}`))
    kept = {
      ...kept,
      ports: kept.ports.map((port) => {
        const before = nodePorts.get(`${port.protocol} ${port.port}`)
        return port.nodePort || !before || taken.has(`${port.protocol} ${before}`)
          ? port
          : { ...port, nodePort: before }
      }),
    }
  }
  if (needsHealthPort(spec) && needsHealthPort(old) && !spec.healthCheckNodePort)
    kept = { ...kept, healthCheckNodePort: old.healthCheckNodePort }
  return kept
}

/** Old clients set the single address only. The list follows it where they left the list out or as it was. */
function withAddressList(spec: ServiceSpec, old: ServiceSpec | undefined): ServiceSpec {
  const { clusterIP = "", clusterIPs = [] } = spec
  if (clusterIP === "" || clusterIP === (old?.clusterIP ?? "")) return spec
  return clusterIPs.length === 0 || deepEqual(clusterIPs, old?.clusterIPs) ? { ...spec, clusterIPs: [clusterIP] } : spec
}

function externalAddresses({ spec, status }: Service): string | undefined {
  const external = spec.externalIPs ?? []
  if (spec.type === "ExternalName") return spec.externalName
  if (spec.type !== "LoadBalancer") return external.join(",") || undefined
  const ingress = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "")
  return [...new Set([...ingress, ...external])].join(",") || "<pending>"
}

const portsText = (ports: readonly ServicePort[]): string | undefined =>
  ports.map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ""}/${protocol}`).join(",") ||
  undefined

const labelsText = (labels: Readonly<Record<string, string>>): string | undefined =>
  Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]}`)
    .join(",") || undefined
