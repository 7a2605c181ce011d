import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, forbiddenField, invalidValue, notSupported, required } from "../../../apimachinery/field-errors.ts"
import { inRange, isDNS1123Label, isDNS1123Subdomain, isIPAddress, isQualifiedName, patternMessage } from "../../../apimachinery/names.ts"
import { validateLabels } from "../../../apimachinery/objectmeta.ts"
import { validateContainers } from "./container-validation.ts"
import { checked } from "./path-validation.ts"
import type { PodDNSConfig, PodSpec } from "./podspec.ts"
import { validateAffinity, validateTolerations, validateTopologySpread } from "./scheduling-validation.ts"
import { validatePodSecurityContext } from "./securitycontext-validation.ts"
import { validateVolumes } from "./volume-validation.ts"

/**
 * Rules of a pod spec, in a pod or in a template; rules of single fields stand in their declarations.
 * `podName` is given for pods only: claims and defaults of pods depend on it. Source: ValidatePodSpec in pkg/apis/core/validation/validation.go.
 */
export function validatePodSpec(spec: PodSpec, podName: string | undefined, path: string): readonly Cause[] {
  const { activeDeadlineSeconds: deadline, resources } = spec
  const causes: Cause[] = [
    ...validateVolumes(spec.volumes ?? [], podName, at(path, "volumes")),
    ...validateResourceClaims(spec, at(path, "resourceClaims")),
    ...validateContainers(spec, path),
  ]
  if (resources?.claims !== undefined) causes.push(forbiddenField(at(path, "resources", "claims"), "claims cannot be set for Resources at pod-level"))
  if (spec.hostNetwork === true) causes.push(...validateHostPorts(spec, podName !== undefined, path))
  causes.push(...validateLabels(spec.nodeSelector, at(path, "nodeSelector")), ...validatePodSecurityContext(spec.securityContext, spec, at(path, "securityContext")))
  if (spec.affinity !== undefined) causes.push(...validateAffinity(spec.affinity, at(path, "affinity")))
  causes.push(...validateDNSConfig(spec.dnsConfig, spec.dnsPolicy, at(path, "dnsConfig")))
  causes.push(...(spec.readinessGates ?? []).flatMap(({ conditionType }, i) => checked(at(path, "readinessGates", i, "conditionType"), conditionType, isQualifiedName)))
  causes.push(...validateSchedulingGates(spec, at(path, "schedulingGates")))
  causes.push(...validateTopologySpread(spec.topologySpreadConstraints ?? [], at(path, "topologySpreadConstraints")))
  if (spec.hostUsers === false)
    for (const [field, shown] of [["hostNetwork", "hostNetwork"], ["hostPID", "HostPID"], ["hostIPC", "HostIPC"]] as const)
      if (spec[field] === true) causes.push(forbiddenField(at(path, shown), "when `pod.Spec.HostUsers` is false"))
  for (const field of ["serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"] as const) causes.push(...checked(at(path, field), spec[field] || undefined, isDNS1123Subdomain))
  const wrongDeadline = deadline === undefined ? undefined : inRange(deadline, 1, 2 ** 31 - 1)
  if (wrongDeadline !== undefined) causes.push(invalidValue(at(path, "activeDeadlineSeconds"), deadline, wrongDeadline))
  for (const field of ["hostname", "subdomain"] as const) causes.push(...checked(at(path, field), spec[field] || undefined, isDNS1123Label))
  causes.push(...validateTolerations(spec.tolerations ?? [], at(path, "tolerations")))
  for (const [i, { ip, hostnames = [] }] of (spec.hostAliases ?? []).entries())
    causes.push(...checked(at(path, "hostAliases", i, "ip"), ip, isIPAddress), ...hostnames.flatMap((name, j) => checked(at(path, "hostAliases", i, "hostnames", j), name, isDNS1123Subdomain)))
  if (spec.os !== undefined) causes.push(...validateOS(spec, spec.os.name, path))
  return causes
}

/** On the host network a container's port is the node's port. Templates may leave it out: it is filled in when the pod is made. */
function validateHostPorts({ containers }: PodSpec, isPod: boolean, path: string): readonly Cause[] {
  return containers.flatMap(({ ports = [] }, i) => ports.flatMap(({ hostPort = 0, containerPort }, j) =>
    (isPod || hostPort !== 0) && hostPort !== containerPort ? [invalidValue(at(path, "containers", i, "ports", j, "hostPort"), hostPort, "must match `containerPort` when `hostNetwork` is true")] : []))
}

function validateResourceClaims({ resourceClaims = [] }: PodSpec, path: string): readonly Cause[] {
  const names = new Set<string>()
  return resourceClaims.flatMap((claim, i) => {
    const here = at(path, i)
    const causes: Cause[] = names.has(claim.name) ? [duplicate(at(here, "name"), claim.name)] : [...checked(at(here, "name"), claim.name, isDNS1123Label)]
    names.add(claim.name)
    const { resourceClaimName, resourceClaimTemplateName } = claim
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) causes.push(invalidValue(here, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) causes.push(invalidValue(here, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
    return [...causes, ...checked(at(here, "resourceClaimName"), resourceClaimName, isDNS1123Subdomain), ...checked(at(here, "resourceClaimTemplateName"), resourceClaimTemplateName, isDNS1123Subdomain)]
  })
}

/** Limits of the C library's resolver. */
const MOST_NAMESERVERS = 3
const MOST_SEARCHES = 32
const LONGEST_SEARCH_LIST = 2048
const SEARCH_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
const SEARCH = `${SEARCH_LABEL}(\\.${SEARCH_LABEL})*`
const searchPattern = new RegExp(`^${SEARCH}$`)
/** A search domain may hold underscores, unlike other names. */
const isSearchDomain = (value: string) =>
  searchPattern.test(value) ? undefined : patternMessage("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character", SEARCH, "example.com")

function validateDNSConfig(config: PodDNSConfig | undefined, policy: string, path: string): readonly Cause[] {
  const { nameservers = [], searches = [], options = [] } = config ?? {}
  if (policy === "None") {
    if (config === undefined) return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
    if (nameservers.length === 0) return [required(at(path, "nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None")]
  }
  const causes: Cause[] = []
  if (nameservers.length > MOST_NAMESERVERS) causes.push(invalidValue(at(path, "nameservers"), nameservers, `must not have more than ${MOST_NAMESERVERS} nameservers`))
  causes.push(...nameservers.flatMap((server, i) => checked(at(path, "nameservers", i), server, isIPAddress)))
  if (searches.length > MOST_SEARCHES) causes.push(invalidValue(at(path, "searches"), searches, `must not have more than ${MOST_SEARCHES} search paths`))
  if (searches.join(" ").length > LONGEST_SEARCH_LIST) causes.push(invalidValue(at(path, "searches"), searches, `must not have more than ${LONGEST_SEARCH_LIST} characters (including spaces) in the search list`))
  causes.push(...searches.flatMap((search, i) => (search === "." ? [] : checked(at(path, "searches", i), search.replace(/\.$/, ""), isSearchDomain))))
  for (const [i, { name = "" }] of options.entries()) if (name === "") causes.push(required(at(path, "options", i), "must not be empty"))
  return causes
}

function validateSchedulingGates({ schedulingGates = [] }: PodSpec, path: string): readonly Cause[] {
  return schedulingGates.flatMap(({ name }, i) => [
    ...checked(at(path, i), name, isQualifiedName),
    ...(schedulingGates.slice(0, i).some((other) => other.name === name) ? [duplicate(at(path, i), name)] : []),
  ])
}

function validateOS(spec: PodSpec, name: string, path: string): readonly Cause[] {
  if (name !== "linux" && name !== "windows") return [notSupported(at(path, "os", "name"), name, ["linux", "windows"])]
  if (name === "windows") return []
  const causes: Cause[] = spec.securityContext.windowsOptions === undefined ? [] : [forbiddenField(at(path, "securityContext", "windowsOptions"), "windows options cannot be set for a linux pod")]
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const)
    for (const [i, { securityContext }] of (spec[list] ?? []).entries())
      if (securityContext?.windowsOptions !== undefined) causes.push(forbiddenField(at(path, list, i, "securityContext", "windowsOptions"), "windows options cannot be set for a linux pod"))
  return causes
}
