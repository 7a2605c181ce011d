import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Subdomain } from "../../../../apimachinery/validation/names.ts"
import type { Container, EphemeralContainer } from "../container/container.ts"
import type { PodSpec } from "./podspec.ts"
import type {
  PodSecurityContext,
  SecurityContext,
  WindowsSecurityContextOptions,
} from "../container/securitycontext.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Returns the faults of pods for Windows. k3ts validates them for nodes that other kubelets run. Source:
 * validateWindows… in pkg/apis/core/validation/validation.go.
 */

const LARGEST_SPEC = 64 * 1024
const LONGEST_DOMAIN = 255
const LONGEST_USER = 104

export function validateWindowsOptions({
  gmsaCredentialSpecName: name,
  gmsaCredentialSpec: spec,
  runAsUserName: user,
}: WindowsSecurityContextOptions): readonly Cause[] {
  const causes: Cause[] = []
  if (name !== undefined) pushAll(causes, invalidValues("gmsaCredentialSpecName", name, isDNS1123Subdomain(name)))
  if (spec === "") causes.push(invalidValue("gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string"))
  else if (spec !== undefined && Buffer.byteLength(spec) > LARGEST_SPEC)
    causes.push(invalidValue("gmsaCredentialSpec", spec, "gmsaCredentialSpec size must be under 64 KiB"))
  if (user !== undefined)
    pushAll(
      causes,
      userProblems(user).map((problem) => invalidValue("runAsUserName", user, `runAsUserName${problem}`)),
    )
  return causes
}

/** A NetBIOS name, or a DNS name that may be written in capitals. */
const NETBIOS = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/
const DNS = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/** A user, or a domain and a user with a backslash between them. */
function userProblems(name: string): readonly string[] {
  if (name === "") return [" cannot be an empty string"]
  if (/\p{Cc}/u.test(name)) return [" cannot contain control characters"]
  const parts = name.split("\\")
  if (parts.length > 2) return [" cannot contain more than one backslash"]
  const [domain, user] = parts.length === 2 ? [parts[0]!, parts[1]!] : [undefined, parts[0]!]
  const problems: string[] = []
  if (domain !== undefined) {
    if (domain.length > LONGEST_DOMAIN) problems.push("'s Domain length must be under 256 characters")
    if (!NETBIOS.test(domain) && !DNS.test(domain))
      problems.push("'s Domain doesn't match the NetBios nor the DNS format")
  }
  if (user === "") problems.push("'s User cannot be empty")
  else if (user.length > LONGEST_USER) problems.push("'s User length must not be longer than 104 characters")
  if (/^[. ]+$/.test(user)) problems.push("'s User cannot contain only periods or spaces")
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    problems.push(`'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`)
  return problems
}

/** Returns every container of a pod with its path, in upstream's order. */
export function containersOf(spec: PodSpec): readonly (readonly [string, Container | EphemeralContainer])[] {
  const found: (readonly [string, Container | EphemeralContainer])[] = []
  for (const list of CONTAINER_LISTS) spec[list]?.forEach((container, i) => found.push([at(list, i), container]))
  return found
}
const CONTAINER_LISTS = ["initContainers", "containers", "ephemeralContainers"] as const

const isOfHostProcess = ({ securityContext }: Container | EphemeralContainer): boolean =>
  securityContext?.windowsOptions?.hostProcess !== undefined

/** If one container is a hostProcess container, all must be, and the pod must use the host's network. */
export function hostProcessFaults(spec: PodSpec): readonly Cause[] {
  const ofPod = spec.securityContext.windowsOptions?.hostProcess
  // Nearly no pod sets these fields, so they are looked for before paths are made, which costs more.
  if (ofPod === undefined && !CONTAINER_LISTS.some((list) => spec[list]?.some(isOfHostProcess) === true))
    return NO_CAUSES
  const causes: Cause[] = []
  let [all, onHost] = [0, 0]
  for (const [path, { securityContext }] of containersOf(spec)) {
    const own = securityContext?.windowsOptions?.hostProcess
    all++
    if (ofPod !== undefined && own !== undefined && ofPod !== own)
      causes.push(
        invalidValue(
          at(path, "securityContext.windowsOptions.hostProcess"),
          own,
          `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
        ),
      )
    if (own ?? ofPod ?? false) onHost++
  }
  if (onHost === 0) return causes
  if (onHost !== all)
    causes.push(
      invalidValue(
        "",
        "",
        "If pod contains any hostProcess containers then all containers must be HostProcess containers",
      ),
    )
  if (spec.hostNetwork !== true)
    causes.push(
      invalidValue("hostNetwork", false, "hostNetwork must be true if pod contains any hostProcess containers"),
    )
  return causes
}

const POD_LINUX_ONLY = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] as const
const POD_CONTEXT_LINUX_ONLY = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const satisfies readonly (keyof PodSecurityContext)[]
const CONTEXT_LINUX_ONLY = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const satisfies readonly (keyof SecurityContext)[]

/** Fields of Linux may not be set in pods for Windows, and the reverse. */
export function osFaults(spec: PodSpec): readonly Cause[] {
  switch (spec.os?.name as string | undefined) {
    case "linux":
      return [
        ...forbidden(spec.securityContext, ["windowsOptions"], "securityContext", NOT_FOR_LINUX),
        ...containersOf(spec).flatMap(([path, { securityContext = {} }]) =>
          forbidden(securityContext, ["windowsOptions"], at(path, "securityContext"), NOT_FOR_LINUX),
        ),
      ]
    case "windows":
      return [
        ...forbidden(spec, POD_LINUX_ONLY, "", NOT_FOR_WINDOWS),
        ...forbidden(spec.securityContext, POD_CONTEXT_LINUX_ONLY, "securityContext", NOT_FOR_WINDOWS),
        ...containersOf(spec).flatMap(([path, { securityContext = {} }]) =>
          forbidden(securityContext, CONTEXT_LINUX_ONLY, at(path, "securityContext"), NOT_FOR_WINDOWS),
        ),
      ]
    default:
      return NO_CAUSES
  }
}
const NOT_FOR_LINUX = "windows options cannot be set for a linux pod"
const NOT_FOR_WINDOWS = "cannot be set for a windows pod"

const forbidden = <T extends object>(
  holder: T,
  fields: readonly (keyof T & string)[],
  path: string,
  why: string,
): readonly Cause[] =>
  fields.flatMap((field) => (holder[field] === undefined ? [] : [forbiddenField(at(path, field), why)]))
