import { repeated } from "../../../../apimachinery/validation/repeated.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  eachWithin,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notFoundField,
  notSupported,
  required,
  tooLong,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import {
  inRange,
  isDNS1123Label,
  isDNS1123Subdomain,
  isIPAddress,
  isQualifiedName,
  patternMessage,
} from "../../../../apimachinery/validation/names.ts"
import { validateLabels } from "../../../../apimachinery/validation/objectmeta.ts"
import { validateContainers } from "../container/container-validation.ts"
import { checked } from "../path-validation.ts"
import { validatePodResources } from "./resources/pod-resources-validation.ts"
import {
  PodResourceClaim,
  type HostAlias,
  type PodDNSConfig,
  type PodReadinessGate,
  type PodSchedulingGate,
  type PodSchedulingGroup,
  type PodSpec,
} from "./podspec.ts"
import { validateOverhead } from "../resources/resources-validation.ts"
import { validateAffinity, validateToleration, validateTopologySpread } from "./scheduling/scheduling-validation.ts"
import { validatePodSecurityContext } from "../container/securitycontext-validation.ts"
import { validateVolumes, type CheckedVolumes } from "../volume/volume-validation.ts"
import { preemptionPolicyFaults } from "./scheduling/preemption-policy.ts"
import { containersOf, hostProcessFaults, osFaults } from "./windows-validation.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Returns the faults of a pod spec, in a pod or in a template. Rules of single fields are in their declarations.
 * `podName` is given for pods only: names of generated claims and defaults depend on it. `old` is the spec that is
 * replaced. Source: ValidatePodSpec in pkg/apis/core/validation/validation.go.
 */
export function validatePodSpec(spec: PodSpec, podName: string | undefined, old?: PodSpec): readonly Cause[] {
  const {
    volumes,
    resourceClaims,
    readinessGates,
    schedulingGates,
    topologySpreadConstraints,
    activeDeadlineSeconds: deadline,
    hostAliases,
  } = spec
  const causes: Cause[] = []
  const checkedVolumes = volumes === undefined ? NO_VOLUMES : validateVolumes(volumes, podName)
  within(causes, checkedVolumes.causes, "volumes")
  if (resourceClaims !== undefined) within(causes, validateResourceClaims(resourceClaims), "resourceClaims")
  within(causes, validateContainers(spec, checkedVolumes.usable), "")
  within(causes, validatePodResources(spec), "resources")
  if (spec.hostNetwork === true) pushAll(causes, validateHostPorts(spec, podName !== undefined))
  within(causes, validateLabels(spec.nodeSelector, "nodeSelector"), "")
  within(causes, validatePodSecurityContext(spec.securityContext, spec, old), "securityContext")
  if (spec.affinity !== undefined) within(causes, validateAffinity(spec.affinity), "affinity")
  within(causes, validateDNSConfig(spec.dnsConfig, spec.dnsPolicy), "dnsConfig")
  eachWithin(causes, readinessGates, "readinessGates", validateReadinessGate)
  if (schedulingGates !== undefined) within(causes, validateSchedulingGates(schedulingGates), "schedulingGates")
  if (topologySpreadConstraints !== undefined)
    within(causes, validateTopologySpread(topologySpreadConstraints), "topologySpreadConstraints")
  pushAll(causes, hostProcessFaults(spec))
  if (spec.hostUsers === false) pushAll(causes, userNamespaceFaults(spec))
  pushAll(causes, validateHostnameOverride(spec))
  for (const field of SUBDOMAINS) within(causes, checked(field, spec[field] || undefined, isDNS1123Subdomain), "")
  const wrongDeadline = deadline === undefined ? undefined : inRange(deadline, 1, 2 ** 31 - 1)
  if (wrongDeadline !== undefined) causes.push(invalidValue("activeDeadlineSeconds", deadline, wrongDeadline))
  if (spec.preemptionPolicy !== undefined)
    pushAll(causes, preemptionPolicyFaults("preemptionPolicy", spec.preemptionPolicy))
  for (const field of LABELS) within(causes, checked(field, spec[field] || undefined, isDNS1123Label), "")
  eachWithin(causes, spec.tolerations, "tolerations", validateToleration)
  eachWithin(causes, hostAliases, "hostAliases", validateHostAlias)
  if (spec.overhead !== undefined) within(causes, validateOverhead(spec.overhead), "overhead")
  if (spec.os !== undefined) pushAll(causes, validateOS(spec.os.name), osFaults(spec))
  if (spec.schedulingGroup !== undefined) pushAll(causes, schedulingGroupFaults(spec.schedulingGroup))
  pushAll(causes, fileVolumeFaults(spec))
  return causes
}
const NO_VOLUMES: CheckedVolumes = { causes: [], usable: new Map() }

const SUBDOMAINS = ["serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"] as const
const LABELS = ["hostname", "subdomain"] as const

function schedulingGroupFaults({ podGroupName }: PodSchedulingGroup): readonly Cause[] {
  const field = "schedulingGroup.podGroupName"
  return podGroupName === undefined
    ? [invalidValue(field, null, "must specify one of: `podGroupName`")]
    : invalidValues(field, podGroupName, isDNS1123Subdomain(podGroupName))
}

/**
 * Returns the faults of a pod with its own user namespace: its users have no rights in the node's network, process and
 * IPC namespaces, nor on block devices.
 */
function userNamespaceFaults(spec: PodSpec): readonly Cause[] {
  const why = "when `hostUsers` is false"
  const causes: Cause[] = []
  if (spec.hostNetwork === true) causes.push(forbiddenField("hostNetwork", why))
  if (spec.hostPID === true) causes.push(forbiddenField("HostPID", why))
  if (spec.hostIPC === true) causes.push(forbiddenField("HostIPC", why))
  for (const [path, { volumeDevices = [] }] of containersOf(spec))
    if (volumeDevices.length > 0) causes.push(forbiddenField(at(path, "volumeDevices"), why))
  return causes
}

/** Environment variables can only be read from files in emptyDir volumes. Source: validateFileKeyRefVolumes. */
function fileVolumeFaults(spec: PodSpec): readonly Cause[] {
  const causes: Cause[] = []
  for (const list of CONTAINER_LISTS)
    spec[list]?.forEach(({ env }, i) =>
      env?.forEach(({ valueFrom }, j) => {
        if (valueFrom?.fileKeyRef === undefined) return
        const name = valueFrom.fileKeyRef.volumeName ?? ""
        const volume = spec.volumes?.findLast((other) => other.name === name)
        const here = at(list, i, "env", j, "valueFrom.fileKeyRef.volumeName")
        if (volume === undefined) causes.push(notFoundField(here, name))
        else if (volume.emptyDir === undefined)
          causes.push(invalidValue(here, name, "referenced volume must be of type emptyDir"))
      }),
    )
  return causes
}
const CONTAINER_LISTS = ["initContainers", "containers", "ephemeralContainers"] as const

/** The longest host name on Linux. */
const LONGEST_HOSTNAME = 64

function validateHostnameOverride({
  hostnameOverride: name,
  setHostnameAsFQDN,
  hostNetwork,
}: PodSpec): readonly Cause[] {
  if (name === undefined) return NO_CAUSES
  const causes: Cause[] = []
  if (setHostnameAsFQDN === true)
    causes.push(forbiddenField("hostnameOverride", "may not be specified when setHostnameAsFQDN is true"))
  if (hostNetwork === true)
    causes.push(forbiddenField("hostnameOverride", "may not be specified when hostNetwork is true"))
  if (name.length > LONGEST_HOSTNAME) causes.push(tooLong("hostnameOverride", LONGEST_HOSTNAME))
  return [...causes, ...checked("hostnameOverride", name, isDNS1123Subdomain)]
}

const validateReadinessGate = ({ conditionType }: PodReadinessGate): readonly Cause[] =>
  checked("conditionType", conditionType, isQualifiedName)

const validateHostAlias = ({ ip, hostnames = [] }: HostAlias): readonly Cause[] => [
  ...checked("ip", ip, isIPAddress),
  ...hostnames.flatMap((name, i) => checked(at("hostnames", i), name, isDNS1123Subdomain)),
]

/**
 * On the host network a container's port must equal its host port. Templates may omit the host port: defaulting sets it
 * when the pod is created.
 */
function validateHostPorts({ containers }: PodSpec, isPod: boolean): readonly Cause[] {
  return containers.flatMap(({ ports = [] }, i) =>
    ports.flatMap(({ hostPort = 0, containerPort }, j) =>
      (isPod || hostPort !== 0) && hostPort !== containerPort
        ? [
            invalidValue(
              at("containers", i, "ports", j, "hostPort"),
              hostPort,
              "must match `containerPort` when `hostNetwork` is true",
            ),
          ]
        : [],
    ),
  )
}

function validateResourceClaims(resourceClaims: readonly PodResourceClaim[]): readonly Cause[] {
  const names = new Set<string>()
  return resourceClaims.flatMap((claim, i) => {
    const here = at("", i)
    const causes: Cause[] = names.has(claim.name)
      ? [duplicate(at(here, "name"), claim.name)]
      : [...checked(at(here, "name"), claim.name, isDNS1123Label)]
    names.add(claim.name)
    const { resourceClaimName, resourceClaimTemplateName } = claim
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
      causes.push(
        invalidValue(
          here,
          goForm(PodResourceClaim, claim),
          "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        ),
      )
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
      causes.push(
        invalidValue(
          here,
          goForm(PodResourceClaim, claim),
          "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
      )
    return [
      ...causes,
      ...checked(at(here, "resourceClaimName"), resourceClaimName, isDNS1123Subdomain),
      ...checked(at(here, "resourceClaimTemplateName"), resourceClaimTemplateName, isDNS1123Subdomain),
    ]
  })
}

/** The limits of the C library's DNS resolver. */
const MOST_NAMESERVERS = 3
const MOST_SEARCHES = 32
const LONGEST_SEARCH_LIST = 2048
const SEARCH_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
const SEARCH = `${SEARCH_LABEL}(\\.${SEARCH_LABEL})*`
const searchPattern = new RegExp(`^${SEARCH}$`)
/** A DNS name that may contain underscores, unlike other names. */
const isSearchDomain = (value: string) =>
  searchPattern.test(value)
    ? undefined
    : patternMessage(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', " +
          "and must start and end with an alphanumeric character",
        SEARCH,
        "example.com",
      )

function validateDNSConfig(config: PodDNSConfig | undefined, policy: string): readonly Cause[] {
  if (config === undefined)
    return policy === "None" ? [required("", "must provide `dnsConfig` when `dnsPolicy` is None")] : NO_CAUSES
  const { nameservers = [], searches = [], options = [] } = config
  if (policy === "None" && nameservers.length === 0)
    return [required("nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")]
  const causes: Cause[] = []
  if (nameservers.length > MOST_NAMESERVERS)
    causes.push(invalidValue("nameservers", nameservers, `must not have more than ${MOST_NAMESERVERS} nameservers`))
  pushAll(
    causes,
    nameservers.flatMap((server, i) => checked(at("nameservers", i), server, isIPAddress)),
  )
  if (searches.length > MOST_SEARCHES)
    causes.push(invalidValue("searches", searches, `must not have more than ${MOST_SEARCHES} search paths`))
  if (searches.join(" ").length > LONGEST_SEARCH_LIST)
    causes.push(
      invalidValue(
        "searches",
        searches,
        `must not have more than ${LONGEST_SEARCH_LIST} characters (including spaces) in the search list`,
      ),
    )
  pushAll(
    causes,
    searches.flatMap((search, i) =>
      search === "." ? [] : checked(at("searches", i), search.replace(/\.$/, ""), isSearchDomain),
    ),
  )
  for (const [i, { name = "" }] of options.entries())
    if (name === "") causes.push(required(at("options", i), "must not be empty"))
  return causes
}

function validateSchedulingGates(schedulingGates: readonly PodSchedulingGate[]): readonly Cause[] {
  const again = repeated(schedulingGates, ({ name }) => name)
  return schedulingGates.flatMap(({ name }, i) => [
    ...checked(at("", i), name, isQualifiedName),
    ...(again.has(i) ? [duplicate(at("", i), name)] : []),
  ])
}

const validateOS = (name: string): readonly Cause[] =>
  name === "" || name === "linux" || name === "windows" ? NO_CAUSES : [notSupported("os", name, ["linux", "windows"])]
