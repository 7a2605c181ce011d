import { addressWarnings } from "../../../../apimachinery/addresses/address-warnings.ts"
import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { repeated } from "../../../../apimachinery/validation/repeated.ts"
import type { Container, EphemeralContainer } from "../container/container.ts"
import type { EnvVar } from "../container/env.ts"
import { deprecationOf, termWarnings } from "../node/node-label-warnings.ts"
import { fractionWarnings } from "../resources/resource-warnings.ts"
import { volumeWarnings } from "../volume/volume-warnings.ts"
import type { Affinity } from "./scheduling/affinity.ts"
import type { PodSpec } from "./podspec.ts"
import { portWarnings } from "./port-warnings.ts"
import {
  APPARMOR_DEPRECATION,
  APPARMOR_PREFIX,
  annotatedProfile,
  SECCOMP_POD,
  SECCOMP_PREFIX,
} from "./profile-annotations.ts"
import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Returns warnings about values of pods that are valid but probably not what the author meant. Source:
 * warningsForPodSpecAndMeta in pkg/api/pod/warnings.go.
 */

interface Template {
  readonly metadata: ObjectMeta
  readonly spec: PodSpec
}
type AnyContainer = Container | EphemeralContainer

const DEPRECATED_ANNOTATIONS: readonly (readonly [key: string, deprecation: string])[] = [
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
]
const OF_BYTES: readonly string[] = ["memory", "ephemeral-storage"]
const LISTS = ["limits", "requests"] as const
const NULL_SELECTOR = "a null labelSelector results in matching no pod"

/**
 * `path` is the path of the template, such as `spec.template`; empty for a pod, whose AppArmor annotations are checked
 * elsewhere. Every new pod passes here, so lists that it lacks are skipped.
 */
export function podSpecWarnings({ metadata, spec }: Template, path: string): readonly string[] {
  const here = path === "" ? "spec" : `${path}.spec`
  const annotations = metadata.annotations
  const warnings: string[] = []
  for (const label in spec.nodeSelector) {
    const deprecation = deprecationOf(label)
    if (deprecation !== undefined) warnings.push(`${here}.nodeSelector[${label}]: ${deprecation}`)
  }
  if (spec.affinity !== undefined) pushAll(warnings, affinityWarnings(spec.affinity, `${here}.affinity`))
  if (spec.topologySpreadConstraints !== undefined)
    for (const [i, { topologyKey, labelSelector }] of spec.topologySpreadConstraints.entries()) {
      const constraint = `${here}.topologySpreadConstraints[${i}]`
      const deprecation = deprecationOf(topologyKey)
      if (deprecation !== undefined) warnings.push(`${constraint}.topologyKey: ${topologyKey} is ${deprecation}`)
      if (labelSelector === undefined) warnings.push(`${constraint}.labelSelector: ${NULL_SELECTOR}`)
    }
  if (annotations !== undefined) pushAll(warnings, annotationWarnings({ metadata, spec }, path))
  if (spec.volumes !== undefined) pushAll(warnings, volumeWarnings(`${here}.volumes`, spec.volumes))
  const { hostAliases, imagePullSecrets } = spec
  if (hostAliases !== undefined)
    for (const i of repeated(hostAliases, ({ ip }) => ip))
      warnings.push(`${here}.hostAliases[${i}].ip: duplicate ip "${hostAliases[i]!.ip}"`)
  if (imagePullSecrets !== undefined) {
    for (const i of repeated(imagePullSecrets, ({ name = "" }) => name))
      warnings.push(`${here}.imagePullSecrets[${i}].name: duplicate name "${imagePullSecrets[i]!.name ?? ""}"`)
    for (const [i, { name = "" }] of imagePullSecrets.entries())
      if (name === "") warnings.push(`${here}.imagePullSecrets[${i}].name: invalid empty name ""`)
  }
  if (spec.overhead !== undefined) pushAll(warnings, fractionWarnings(`${here}.overhead`, spec.overhead, OF_BYTES))
  const containers = containersOf(spec, here)
  for (const [{ resources, env }, field] of containers) {
    for (const list of LISTS)
      if (resources?.[list] !== undefined)
        pushAll(warnings, fractionWarnings(`${field}.resources.${list}`, resources[list], OF_BYTES))
    if (env !== undefined && env.length > 1) pushAll(warnings, envWarnings(`${field}.env`, env))
  }
  pushAll(warnings, portWarnings(containers))
  if (spec.terminationGracePeriodSeconds < 0)
    warnings.push(
      `${here}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    )
  if (spec.dnsConfig?.nameservers !== undefined)
    for (const [i, server] of spec.dnsConfig.nameservers.entries())
      pushAll(warnings, addressWarnings(`${here}.dnsConfig.nameservers[${i}]`, server))
  if (hostAliases !== undefined)
    for (const [i, { ip }] of hostAliases.entries())
      pushAll(warnings, addressWarnings(`${here}.hostAliases[${i}].ip`, ip))
  return warnings
}

/** Returns all containers with their paths, init containers first, in the order in which upstream visits them. */
function containersOf(spec: PodSpec, here: string): readonly (readonly [AnyContainer, string])[] {
  const found: [AnyContainer, string][] = []
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    const containers = spec[list]
    if (containers === undefined) continue
    for (let i = 0; i < containers.length; i++) found.push([containers[i]!, `${here}.${list}[${i}]`])
  }
  return found
}

function affinityWarnings({ nodeAffinity, ...others }: Affinity, path: string): readonly string[] {
  const warnings: string[] = []
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const needed = `${path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`
  for (const [i, term] of terms.entries()) pushAll(warnings, termWarnings(`${needed}[${i}]`, term, false))
  const preferredTerms = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const preferredPath = `${path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`
  for (const [i, { preference }] of preferredTerms.entries())
    pushAll(warnings, termWarnings(`${preferredPath}[${i}].preference`, preference, true))
  for (const kind of ["podAffinity", "podAntiAffinity"] as const) {
    const { requiredDuringSchedulingIgnoredDuringExecution: rules = [] } = others[kind] ?? {}
    const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = others[kind] ?? {}
    for (const [i, { labelSelector }] of rules.entries())
      if (labelSelector === undefined)
        warnings.push(
          `${path}.${kind}.requiredDuringSchedulingIgnoredDuringExecution[${i}].labelSelector: ${NULL_SELECTOR}`,
        )
    for (const [i, { podAffinityTerm }] of preferred.entries())
      if (podAffinityTerm.labelSelector === undefined)
        warnings.push(
          `${path}.${kind}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm.labelSelector: ` +
            `${NULL_SELECTOR}`,
        )
  }
  return warnings
}

function annotationWarnings({ metadata: { annotations = {} }, spec }: Template, path: string): readonly string[] {
  const at = (key: string) => `${path === "" ? "" : `${path}.`}metadata.annotations[${key}]`
  const warnings: string[] = []
  for (const [key, deprecation] of DEPRECATED_ANNOTATIONS)
    if (annotations[key] !== undefined) warnings.push(`${at(key)}: ${deprecation}`)
  if (spec.securityContext?.seccompProfile === undefined && annotations[SECCOMP_POD] !== undefined)
    warnings.push(`${at(SECCOMP_POD)}: ${NO_SECCOMP}`)
  const ofPod = spec.securityContext?.appArmorProfile
  for (const [{ name, securityContext }] of containersOf(spec, "")) {
    const [seccomp, appArmor] = [SECCOMP_PREFIX + name, APPARMOR_PREFIX + name]
    if (securityContext?.seccompProfile === undefined && annotations[seccomp] !== undefined)
      warnings.push(`${at(seccomp)}: ${NO_SECCOMP}`)
    if (path === "" || securityContext?.appArmorProfile !== undefined || annotations[appArmor] === undefined) continue
    if (ofPod === undefined || !deepEqual(ofPod, annotatedProfile(annotations[appArmor])))
      warnings.push(`${at(appArmor)}: ${APPARMOR_DEPRECATION}`)
  }
  return warnings
}
const NO_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'

/** Returns warnings about variables that are defined twice, unless the second definition refers to the first. */
function envWarnings(path: string, env: readonly EnvVar[]): readonly string[] {
  const warnings: string[] = []
  for (const i of repeated(env, ({ name }) => name)) {
    const { name, value = "", valueFrom } = env[i]!
    const reference = `$(${name})`
    if (valueFrom !== undefined || value === reference || !value.includes(reference))
      warnings.push(
        `${path}[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      )
  }
  return warnings
}
