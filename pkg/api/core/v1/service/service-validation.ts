/**
 * Returns the faults of a Service, in upstream's order and words. Source: ValidateService in
 * pkg/apis/core/validation/validation.go.
 */
import { familyOf } from "../../../../apimachinery/addresses/cidr.ts"
import { repeated } from "../../../../apimachinery/validation/repeated.ts"
import { isIP } from "node:net"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../../apimachinery/validation/field-errors.ts"
import {
  inRange,
  isCIDR,
  isDNS1123Label,
  isDNS1123Subdomain,
  isIPAddress,
  isPortName,
  isQualifiedName,
  type Problem,
} from "../../../../apimachinery/validation/names.ts"
import { validateLabels } from "../../../../apimachinery/validation/objectmeta.ts"
import type { KubeObject } from "../../../../apimachinery/resource.ts"
import { endpointAddressFaults } from "./endpointaddress.ts"
import type { LoadBalancerStatus } from "./loadbalancerstatus.ts"
import { exposes, type ServicePort, type ServiceSpec } from "./servicespec.ts"
import { pushAll } from "../../../../lists/push-all.ts"

export const TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
export const TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
/** The older annotation for the clients that a load balancer accepts. */
const SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
const LONGEST_AFFINITY_SECONDS = 86400
const DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"]
const NO_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"

export const needsHealthPort = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local"
const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean => clusterIPs.length === 1 && clusterIPs[0] === "None"

interface ServiceView extends KubeObject {
  readonly spec: ServiceSpec
}

/** Returns the faults of a spec that is written; `old` is the spec that it replaces. */
export function serviceFaults(
  { metadata: { annotations = {} }, spec }: ServiceView,
  old?: ServiceView,
): readonly Cause[] {
  const causes: Cause[] = []
  const [hints, mode] = [annotations[TOPOLOGY_HINTS], annotations[TOPOLOGY_MODE]]
  if (hints !== undefined && mode !== undefined && hints !== mode)
    causes.push(
      invalidValue(
        atKey("metadata.annotations", TOPOLOGY_MODE),
        mode,
        `must match annotations[${TOPOLOGY_HINTS}] when both are specified`,
      ),
    )
  const { type, ports = [] } = spec
  const headless = isHeadless(spec)
  if (ports.length === 0 && !headless && type !== "ExternalName") causes.push(required("spec.ports"))
  if (exposes(spec) && headless)
    causes.push(invalidValue("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`))
  if (type === "ExternalName") pushAll(causes, aliasFaults(spec))
  const names = new Set<string>()
  for (const [i, port] of ports.entries())
    pushAll(causes, portFaults(port, at("spec.ports", i), names, ports.length > 1))
  pushAll(causes, validateLabels(spec.selector, "spec.selector"), affinityFaults(spec), clusterIPFaults(spec))
  const allowed = new Set(old?.spec.externalIPs)
  for (const [i, ip] of (spec.externalIPs ?? []).entries()) {
    const path = at("spec.externalIPs", i)
    const wrong = allowed.has(ip) ? undefined : isIPAddress(ip)
    pushAll(causes, wrong === undefined ? endpointAddressFaults(ip, path) : invalidValues(path, ip, wrong))
  }
  pushAll(causes, repeatedPorts(spec), loadBalancerFaults(spec, annotations, old), trafficFaults(spec))
  return causes
}

function aliasFaults({
  clusterIPs = [],
  ipFamilies = [],
  ipFamilyPolicy,
  externalName = "",
}: ServiceSpec): readonly Cause[] {
  const misplaced = [
    ...(clusterIPs.length > 0 ? ["clusterIPs"] : []),
    ...(ipFamilies.length > 0 ? ["ipFamilies"] : []),
    ...(ipFamilyPolicy === undefined ? [] : ["ipFamilyPolicy"]),
  ]
  const name = externalName.replace(/\.$/, "")
  return [
    ...misplaced.map((field) => forbiddenField(at("spec", field), "may not be set for ExternalName services")),
    ...(name === ""
      ? [required("spec.externalName")]
      : invalidValues("spec.externalName", name, isDNS1123Subdomain(name))),
  ]
}

function portFaults(
  { name = "", port, targetPort, appProtocol }: ServicePort,
  here: string,
  names: Set<string>,
  mustBeNamed: boolean,
): readonly Cause[] {
  const causes: Cause[] = []
  const check = (field: string, value: unknown, wrong: Problem | undefined) =>
    pushAll(causes, invalidValues(at(here, field), value, wrong))
  if (name === "") {
    if (mustBeNamed) causes.push(required(at(here, "name")))
  } else {
    check("name", name, isDNS1123Label(name))
    if (names.has(name)) causes.push(duplicate(at(here, "name"), name))
    names.add(name)
  }
  check("port", port, inRange(port, 1, 65535))
  check(
    "targetPort",
    targetPort,
    typeof targetPort === "number"
      ? inRange(targetPort, 1, 65535)
      : targetPort === undefined
        ? undefined
        : isPortName(targetPort),
  )
  if (appProtocol !== undefined) check("appProtocol", appProtocol, isQualifiedName(appProtocol))
  return causes
}

const AFFINITIES: readonly string[] = ["ClientIP", "None"]
const TRAFFIC_POLICIES: readonly string[] = ["Cluster", "Local"]

function affinityFaults({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): readonly Cause[] {
  const field = "spec.sessionAffinityConfig"
  if (!AFFINITIES.includes(sessionAffinity)) return [notSupported("spec.sessionAffinity", sessionAffinity, AFFINITIES)]
  if (sessionAffinity !== "ClientIP")
    return sessionAffinityConfig === undefined
      ? []
      : [forbiddenField(field, "must not be set when session affinity is None")]
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds
  if (seconds === undefined)
    return [
      required(
        sessionAffinityConfig === undefined
          ? field
          : `${field}.clientIP${sessionAffinityConfig.clientIP === undefined ? "" : ".timeoutSeconds"}`,
        "when session affinity type is ClientIP",
      ),
    ]
  return seconds > 0 && seconds <= LONGEST_AFFINITY_SECONDS
    ? []
    : [
        invalidValue(
          `${field}.clientIP.timeoutSeconds`,
          seconds,
          `must be greater than 0 and less than ${LONGEST_AFFINITY_SECONDS}`,
        ),
      ]
}

/**
 * Returns the faults of clusterIP, clusterIPs and ipFamilies, which must agree. Source:
 * ValidateServiceClusterIPsRelatedFields.
 */
export function clusterIPFaults(spec: ServiceSpec): readonly Cause[] {
  if (spec.type === "ExternalName") return []
  const { clusterIPs = [], ipFamilies = [], clusterIP = "" } = spec
  const causes: Cause[] = []
  const wrong = (why: string) => void causes.push(invalidValue("spec.clusterIPs", clusterIPs, why))
  if (clusterIP === "" && clusterIPs.length > 0) wrong("must be empty when `clusterIP` is not specified")
  if (clusterIP !== "" && clusterIPs.length === 0) causes.push(required("spec.clusterIPs"))
  else if (clusterIP !== "" && clusterIPs[0] !== clusterIP) wrong("first value must match `clusterIP`")
  const repeatedFamilies = repeated(ipFamilies, (family) => family)
  for (const [i, family] of ipFamilies.entries()) {
    if (family !== "IPv4" && family !== "IPv6")
      causes.push(notSupported(at("spec.ipFamilies", i), family, ["IPv4", "IPv6"]))
    if (repeatedFamilies.has(i)) causes.push(duplicate(at("spec.ipFamilies", i), family))
  }
  const headless = clusterIPs[0] === "None"
  if (headless && clusterIPs.length > 1) wrong("'None' must be the first and only value")
  const malformed = clusterIPs.flatMap((ip, i) => {
    return headless && i === 0 ? [] : invalidValues(at("spec.clusterIPs", i), ip, isIPAddress(ip))
  })
  pushAll(causes, malformed)
  if (clusterIPs.length > 2) wrong("may only hold up to 2 values")
  // The rules below expect valid addresses.
  if (malformed.length > 0 || headless) return causes
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(familyOf)).size < 2)
    wrong("may specify no more than one IP for each IP family")
  for (const [i, ip] of clusterIPs.entries()) {
    const family = ipFamilies[i]
    // An unknown family was reported above.
    if ((family === "IPv4" || family === "IPv6") && family !== familyOf(ip))
      causes.push(
        invalidValue(at("spec.clusterIPs", i), ip, `expected an ${family} value as indicated by \`ipFamilies[${i}]\``),
      )
  }
  return causes
}

function repeatedPorts({ ports = [], type }: ServiceSpec): readonly Cause[] {
  const [misplaced, sameNodePort, same]: [Cause[], Cause[], Cause[]] = [[], [], []]
  const [nodePorts, pairs] = [new Set<string>(), new Set<string>()]
  for (const [i, { protocol, port, nodePort = 0 }] of ports.entries()) {
    const here = at("spec.ports", i)
    if (nodePort !== 0 && type === "ClusterIP")
      misplaced.push(forbiddenField(at(here, "nodePort"), "may not be used when `type` is 'ClusterIP'"))
    if (nodePort !== 0 && nodePorts.has(`${protocol} ${nodePort}`))
      sameNodePort.push(duplicate(at(here, "nodePort"), nodePort))
    if (nodePort !== 0) nodePorts.add(`${protocol} ${nodePort}`)
    // Upstream shows a port that has only this pair of fields.
    if (pairs.has(`${protocol} ${port}`))
      same.push(
        duplicate(here, { Name: "", Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 }),
      )
    pairs.add(`${protocol} ${port}`)
  }
  return [...misplaced, ...sameNodePort, ...same]
}

function loadBalancerFaults(
  spec: ServiceSpec,
  annotations: Readonly<Record<string, string>>,
  old: ServiceView | undefined,
): readonly Cause[] {
  const { type, loadBalancerSourceRanges: ranges = [], allocateLoadBalancerNodePorts } = spec
  const causes: Cause[] = []
  const isOne = type === "LoadBalancer"
  const check = (field: string, range: string) => pushAll(causes, invalidValues(field, range, isCIDR(range)))
  const older = annotations[SOURCE_RANGES]
  if (ranges.length > 0) {
    const field = "spec.LoadBalancerSourceRanges" // upstream's spelling
    if (!isOne) causes.push(forbiddenField(field, NO_LOAD_BALANCER))
    for (const [i, range] of ranges.entries()) check(at(field, i), range.trim())
  } else if (older !== undefined) {
    const field = atKey("metadata.annotations", SOURCE_RANGES)
    if (!isOne) causes.push(forbiddenField(field, NO_LOAD_BALANCER))
    if (older.trim() !== "" && older !== old?.metadata.annotations?.[SOURCE_RANGES])
      for (const range of older.split(",")) check(field, range.trim())
  }
  if (allocateLoadBalancerNodePorts !== undefined && !isOne)
    causes.push(forbiddenField("spec.allocateLoadBalancerNodePorts", NO_LOAD_BALANCER))
  return [...causes, ...classFaults(spec)]
}

/** Upstream validates this field twice in an update. */
function classFaults({ type, loadBalancerClass: name }: ServiceSpec): readonly Cause[] {
  if (name === undefined) return []
  return type === "LoadBalancer"
    ? invalidValues("spec.loadBalancerClass", name, isQualifiedName(name))
    : [forbiddenField("spec.loadBalancerClass", NO_LOAD_BALANCER)]
}

function trafficFaults(spec: ServiceSpec): readonly Cause[] {
  const {
    type,
    externalTrafficPolicy,
    externalIPs = [],
    healthCheckNodePort = 0,
    internalTrafficPolicy,
    trafficDistribution,
  } = spec
  const causes: Cause[] = []
  const fromOutside = exposes(spec) || (type === "ClusterIP" && externalIPs.length > 0)
  if (!fromOutside && externalTrafficPolicy !== undefined)
    causes.push(
      invalidValue(
        "spec.externalTrafficPolicy",
        externalTrafficPolicy,
        "may only be set for externally-accessible services",
      ),
    )
  if (fromOutside && externalTrafficPolicy === undefined) causes.push(required("spec.externalTrafficPolicy"))
  else if (fromOutside && !TRAFFIC_POLICIES.includes(externalTrafficPolicy!))
    causes.push(notSupported("spec.externalTrafficPolicy", externalTrafficPolicy, TRAFFIC_POLICIES))
  if (!needsHealthPort(spec)) {
    if (healthCheckNodePort !== 0)
      causes.push(
        invalidValue(
          "spec.healthCheckNodePort",
          healthCheckNodePort,
          "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ),
      )
  } else if (healthCheckNodePort !== 0) {
    const wrong = inRange(healthCheckNodePort, 1, 65535)
    if (wrong !== undefined) causes.push(invalidValue("spec.healthCheckNodePort", healthCheckNodePort, wrong))
  }
  if (internalTrafficPolicy === undefined && type !== "ExternalName")
    causes.push(required("spec.internalTrafficPolicy"))
  if (trafficDistribution !== undefined && !DISTRIBUTIONS.includes(trafficDistribution))
    causes.push(notSupported("spec.trafficDistribution", trafficDistribution, DISTRIBUTIONS))
  return causes
}

/**
 * Returns the faults of an update: allocated addresses and families stay until the type becomes ExternalName. Source:
 * ValidateServiceUpdate.
 */
export function serviceChangeFaults(service: ServiceView, before: ServiceView): readonly Cause[] {
  const causes: Cause[] = []
  const [spec, old] = [service.spec, before.spec]
  if (spec.type !== "ExternalName" && old.type !== "ExternalName")
    pushAll(causes, addressChanges(spec, old), familyChanges(spec, old))
  if (spec.type === "LoadBalancer" && old.type === "LoadBalancer" && old.loadBalancerClass !== spec.loadBalancerClass)
    causes.push(invalidValue("spec.loadBalancerClass", spec.loadBalancerClass, "may not change once set"))
  pushAll(causes, classFaults(spec))
  if (
    needsHealthPort(spec) &&
    needsHealthPort(old) &&
    (spec.healthCheckNodePort ?? 0) !== (old.healthCheckNodePort ?? 0)
  )
    causes.push(forbiddenField("spec.healthCheckNodePort", "field is immutable"))
  return [...causes, ...serviceFaults(service, before)]
}

function addressChanges(spec: ServiceSpec, old: ServiceSpec): readonly Cause[] {
  const [now, before] = [spec.clusterIPs ?? [], old.clusterIPs ?? []]
  if (isHeadless(spec) && isHeadless(old)) return []
  const wrong = (i: number, why: string) => invalidValue(at("spec.clusterIPs", i), now.length === 0 ? null : now, why)
  // A Service has at most two.
  if (now.length === before.length && now.length <= 2)
    return before.flatMap((ip, i) => (now[i] === ip ? [] : [wrong(i, "may not change once set")]))
  if (now.length === 0) return [wrong(0, "primary clusterIP can not be unset")]
  return [
    ...(before.length > 0 && now[0] !== before[0] ? [wrong(0, "may not change once set")] : []),
    ...(now.length < before.length && spec.ipFamilyPolicy !== "SingleStack"
      ? [
          invalidValue(
            "spec.ipFamilyPolicy",
            spec.ipFamilyPolicy,
            "must be set to 'SingleStack' when releasing the secondary clusterIP",
          ),
        ]
      : []),
  ]
}

function familyChanges(spec: ServiceSpec, old: ServiceSpec): readonly Cause[] {
  if (isHeadless(spec) || isHeadless(old)) return []
  const [now, before] = [spec.ipFamilies ?? [], old.ipFamilies ?? []]
  const changed = (shown: readonly string[]) => invalidValue("spec.ipFamilies[0]", shown, "may not change once set")
  if (now.length === before.length && now.length <= 2)
    return before.flatMap((family, i) => (now[i] === family ? [] : [changed(now)]))
  return [
    ...(before.length > 0 && now.length > 0 && now[0] !== before[0] ? [changed(spec.clusterIPs ?? [])] : []),
    ...(now.length < before.length && now.length === 1 && spec.ipFamilyPolicy !== "SingleStack"
      ? [
          invalidValue(
            "spec.ipFamilyPolicy",
            spec.ipFamilyPolicy,
            "must be set to 'SingleStack' when releasing the secondary ipFamily",
          ),
        ]
      : []),
  ]
}

/** Source: ValidateLoadBalancerStatus. */
export function loadBalancerStatusFaults(
  { ingress = [] }: LoadBalancerStatus,
  { type }: ServiceSpec,
  old: LoadBalancerStatus,
): readonly Cause[] {
  const field = "status.loadBalancer.ingress"
  if (type !== "LoadBalancer" && ingress.length > 0)
    return [forbiddenField(field, "may only be used when `spec.type` is 'LoadBalancer'")]
  const known = new Set((old.ingress ?? []).map(({ ip }) => ip))
  return ingress.flatMap(({ ip = "", ipMode, hostname = "" }, i) => {
    const here = at(field, i)
    return [
      // An address that is stored already may stay as it is.
      ...(ip === "" || known.has(ip) ? [] : invalidValues(at(here, "ip"), ip, isIPAddress(ip))),
      ...(ipMode !== undefined && ip === ""
        ? [forbiddenField(at(here, "ipMode"), "may not be specified when `ip` is not set")]
        : []),
      ...(ipMode !== undefined && ip !== "" && ipMode !== "VIP" && ipMode !== "Proxy"
        ? [notSupported(at(here, "ipMode"), ipMode, ["Proxy", "VIP"])]
        : []),
      ...(hostname === "" ? [] : invalidValues(at(here, "hostname"), hostname, isDNS1123Subdomain(hostname))),
      ...(isIP(hostname) === 0
        ? []
        : [invalidValue(at(here, "hostname"), hostname, "must be a DNS name, not an IP address")]),
    ]
  })
}
