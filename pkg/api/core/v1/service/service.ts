import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import { f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { Condition } from "../../../../apimachinery/meta.ts"
import { isDNS1123Label } from "../../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { loadBalancerStatusFaults, needsHealthPort, serviceChangeFaults, serviceFaults } from "./service-validation.ts"
import { serviceWarnings } from "./service-warnings.ts"
import { LoadBalancerStatus } from "./loadbalancerstatus.ts"
import { exposes, ServiceSpec, type ServicePort, without } from "./servicespec.ts"

/**
 * Source: k8s.io/api core/v1/types.go, pkg/registry/core/service/strategy.go, ValidateService in
 * pkg/apis/core/validation. The registry allocates addresses and node ports.
 */

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
      { name: "Type", type: "string", doc: "Type of the Service.", value: (service) => service.spec.type },
      {
        name: "Cluster-IP",
        type: "string",
        doc: "Cluster IP of the Service.",
        value: ({ spec }) => spec.clusterIPs?.[0] ?? (spec.clusterIP || undefined),
      },
      {
        name: "External-IP",
        type: "string",
        doc: "Addresses for clients outside the cluster.",
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
        doc: "Selector of the pods behind the Service.",
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

/**
 * Removes fields that only the former type needed, so that a client can change the type alone. A field that the update
 * changes too stays, and validation reports it. Source: dropTypeDependentFields in
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
 * Keeps the addresses and node ports that a client omits in an update, because older clients do not know these fields.
 * Source: patchAllocatedValues and normalizeClusterIPs in pkg/registry/core/service/storage.
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

/** Older clients set only the single address. The list is set from it when the list is absent or unchanged. */
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
