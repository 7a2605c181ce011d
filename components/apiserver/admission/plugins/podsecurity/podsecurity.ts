/**
 * Applies the Pod Security Standards that the labels of a namespace select. Source:
 * k8s.io/pod-security-admission/admission/admission.go.
 */
import { Namespace } from "../../../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/json/equal.ts"
import { forbidden, invalid } from "../../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import { on, type AdmissionAttributes, type AdmissionPlugin, type AttributesOf } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"
import {
  isPrivileged,
  isStricter,
  LABEL_PREFIX,
  policyReader,
  sameStandard,
  standardText,
  type Policy,
  type PolicyReader,
  type Standard,
} from "./policy.ts"
import type { PodSecuritySettings } from "./podsecurity-settings.ts"
import { detailsOf, reasonsOf, violations } from "./standards.ts"

const COMMON = { name: "PodSecurity", operations: ["CREATE", "UPDATE"] } as const
/** The audit annotation of what is not checked. */
const EXEMPT = `${LABEL_PREFIX}exempt`

/** What is not checked. */
interface Exemptions {
  readonly namespaces: ReadonlySet<string>
  readonly users: ReadonlySet<string>
  readonly runtimeClasses: ReadonlySet<string>
}

const exemptionsOf = ({
  namespaces,
  usernames,
  runtimeClasses,
}: NonNullable<PodSecuritySettings["exemptions"]>): Exemptions => ({
  namespaces: new Set(namespaces),
  users: new Set(usernames),
  runtimeClasses: new Set(runtimeClasses),
})

/** The most pods of a namespace that are checked when its enforced level becomes stricter. */
const MOST_PODS = 3000

export function podSecurity(
  { objects }: AdmissionContext,
  { defaults, exemptions = {} }: PodSecuritySettings = {},
): readonly AdmissionPlugin[] {
  const policyOf = policyReader(defaults)
  const exempt = exemptionsOf(exemptions)
  const policyFor = (namespace: string | undefined) =>
    policyOf(objects.get(Namespace, { name: namespace ?? "" })?.metadata.labels)
  return [
    on(Namespace, {
      ...COMMON,
      validate: (attributes) => checkNamespace(attributes, policyOf, exempt, (name) => objects.list(Pod, name)),
    }),
    on(Pod, {
      ...COMMON,
      subresources: [undefined, "ephemeralcontainers", "resize"],
      validate(attributes) {
        if (!isExempt(attributes, exempt)) checkPod(attributes, policyFor(attributes.namespace), exempt)
      },
    }),
    {
      ...COMMON,
      // Pod templates of workloads are checked too, but only cause warnings and audit annotations; their pods are
      // refused.
      concerns: ({ podTemplate }) => podTemplate !== undefined,
      validate(attributes) {
        if (attributes.subresource !== undefined || isExempt(attributes, exempt)) return
        checkTemplate(attributes, policyFor(attributes.namespace), exempt)
      },
    },
  ]
}

/** Whether namespace or user are exempt, which the audit event says. */
function isExempt({ namespace = "", user, annotate }: AdmissionAttributes, exempt: Exemptions): boolean {
  const why = exempt.namespaces.has(namespace) ? "namespace" : exempt.users.has(user.name) ? "user" : undefined
  if (why !== undefined) annotate?.(EXEMPT, why)
  return why !== undefined
}

function checkPod(attributes: AttributesOf<Pod>, policy: Policy, exempt: Exemptions): void {
  const { annotate } = attributes
  if (
    policy.faults.length === 0 &&
    isPrivileged(policy.enforce) &&
    isPrivileged(policy.audit) &&
    isPrivileged(policy.warn)
  ) {
    annotate?.(`${LABEL_PREFIX}enforce-policy`, standardText(policy.enforce))
    return
  }
  const { object: pod, old } = attributes
  // A running pod that breaks the standard can still be updated, unless the update changes its containers.
  if (old !== undefined && !changesContainers(pod, old)) return
  evaluate(attributes, policy, pod, exempt, true)
}

function checkTemplate(attributes: AdmissionAttributes, policy: Policy, exempt: Exemptions): void {
  if (policy.faults.length === 0 && isPrivileged(policy.audit) && isPrivileged(policy.warn)) return
  const pod = templateOf(attributes.resource, attributes.object)
  if (pod !== undefined) evaluate(attributes, policy, pod, exempt, false)
}

function evaluate(
  { resource, name, warn, annotate }: AdmissionAttributes,
  { enforce, audit, warn: warnOf, faults }: Policy,
  pod: Pod,
  exempt: Exemptions,
  refuses: boolean,
): void {
  if (exempt.runtimeClasses.has(pod.spec.runtimeClassName ?? "")) return annotate?.(EXEMPT, "runtimeClass")
  const against = (standard: Standard): string => {
    const found = violations(pod, standard)
    return found.length === 0 ? "" : `PodSecurity ${JSON.stringify(standardText(standard))}: ${detailsOf(found)}`
  }
  if (annotate !== undefined) {
    if (faults.length > 0)
      annotate(
        `${LABEL_PREFIX}error`,
        "Failed to parse policy: " +
          `${faults.length === 1 ? faultText(faults[0]!) : `[${faults.map(faultText).join(", ")}]`}`,
      )
    if (refuses) annotate(`${LABEL_PREFIX}enforce-policy`, standardText(enforce))
    const noted = against(audit)
    if (noted !== "") annotate(`${LABEL_PREFIX}audit-violations`, `would violate ${noted}`)
  }
  const refused = refuses ? against(enforce) : ""
  if (refused !== "") throw forbidden(resource, name, `violates ${refused}`)
  const warned = against(warnOf)
  if (warned !== "") warn(`would violate ${warned}`)
}
const faultText = ({ field = "", message }: Policy["faults"][number]): string => `${field}: ${message}`

/** Whether containers were added or removed, or have another image. */
function changesContainers({ spec }: Pod, { spec: old }: Pod): boolean {
  const images = (containers: readonly { readonly image?: string | undefined }[] | undefined) =>
    (containers ?? []).map(({ image }) => image)
  if (
    !deepEqual(images(spec.containers), images(old.containers)) ||
    !deepEqual(images(spec.initContainers), images(old.initContainers))
  )
    return true
  return (spec.ephemeralContainers ?? []).some(
    ({ name, image }) => old.ephemeralContainers?.find((known) => known.name === name)?.image !== image,
  )
}

/** Returns the pod template of a workload as a pod without status. */
function templateOf({ podTemplate = "" }: Resource, object: KubeObject | undefined): Pod | undefined {
  let found: unknown = object
  for (const step of podTemplate.split(".")) found = (found as Readonly<Record<string, unknown>> | undefined)?.[step]
  return found as Pod | undefined
}

/**
 * Refuses labels with unknown levels or versions. When the enforced level becomes stricter, warns about existing pods
 * that break it.
 */
function checkNamespace(
  { operation, resource, name, object, old, warn }: AdmissionAttributes,
  policyOf: PolicyReader,
  exempt: Exemptions,
  podsOf: (namespace: string) => readonly Pod[],
): void {
  const policy = policyOf(object?.metadata.labels)
  const before = operation === "CREATE" ? undefined : policyOf(old?.metadata.labels)
  if (policy.faults.length > 0 && (before === undefined || !deepEqual(policy.faults, before.faults)))
    throw invalid(resource, name, policy.faults)
  const { enforce } = policy
  const isStated = before === undefined && exempt.namespaces.has(name)
  if (isStated) return warnOfExemption(name, policy, object?.metadata.labels, policyOf(undefined), warn)
  if (before === undefined || sameStandard(enforce, before.enforce) || isPrivileged(enforce)) return
  if (enforce.version === before.enforce.version && !isStricter(enforce, before.enforce)) return
  if (exempt.namespaces.has(name))
    return warnOfExemption(name, policy, object?.metadata.labels, policyOf(undefined), warn)
  for (const text of warningsOf(name, enforce, podsOf(name))) warn(text)
}

/** Warns that the labels of an exempt namespace have no effect. */
function warnOfExemption(
  name: string,
  policy: Policy,
  labels: Readonly<Record<string, string>> = {},
  defaults: Policy,
  warn: (text: string) => void,
): void {
  if (MODES.every((mode) => isPrivileged(policy[mode]))) return
  if (MODES.every((mode) => sameStandard(policy[mode], defaults[mode]))) return
  const isGiven = (mode: string) => [mode, `${mode}-version`].some((label) => LABEL_PREFIX + label in labels)
  const shown = MODES.filter((mode) => !isPrivileged(policy[mode]) && isGiven(mode))
  const text = shown.map((mode) => `${mode}=${standardText(policy[mode])}`).join(", ")
  warn(`namespace ${JSON.stringify(name)} is exempt from Pod Security, and the policy (${text}) will be ignored`)
}
const MODES = ["enforce", "audit", "warn"] as const

function warningsOf(namespace: string, enforce: Standard, all: readonly Pod[]): readonly string[] {
  const pods = oneOfEachControllerFirst(all)
  const names = new Map<string, string[]>()
  for (const pod of pods.slice(0, MOST_PODS)) {
    const found = violations(pod, enforce)
    if (found.length === 0) continue
    const reasons = reasonsOf(found)
    names.set(reasons, [...(names.get(reasons) ?? []), pod.metadata.name!])
  }
  return [
    ...(pods.length > MOST_PODS
      ? [`new PodSecurity enforce level only checked against the first ${MOST_PODS} of ${pods.length} existing pods`]
      : []),
    ...(names.size > 0
      ? [
          `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ` +
            `${JSON.stringify(standardText(enforce))}`,
        ]
      : []),
    ...[...names]
      .map(([reasons, offenders]) => `${[...offenders].sort()[0]}${others(offenders.length - 1)}: ${reasons}`)
      .sort(),
  ]
}
const others = (count: number): string => (count === 0 ? "" : ` (and ${count} other ${count === 1 ? "pod" : "pods"})`)

/** Pods of one controller are alike, so the first pod of each controller comes first, and their other pods last. */
function oneOfEachControllerFirst(pods: readonly Pod[]): readonly Pod[] {
  const seen = new Set<string>()
  const [first, rest]: [Pod[], Pod[]] = [[], []]
  for (const pod of pods) {
    const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid
    ;(controller !== undefined && seen.has(controller) ? rest : first).push(pod)
    if (controller !== undefined) seen.add(controller)
  }
  return [...first, ...rest]
}
