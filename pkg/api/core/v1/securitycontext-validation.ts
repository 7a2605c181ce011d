import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, invalidValue, required, tooLong } from "../../../apimachinery/field-errors.ts"
import { isUserOrGroupID } from "../../../apimachinery/names.ts"
import type { AppArmorProfile, PodSecurityContext, SeccompProfile, SecurityContext } from "./securitycontext.ts"
import type { PodSpec } from "./podspec.ts"
import { localPath } from "./path-validation.ts"

/** Rules of security contexts. Source: ValidateSecurityContext and validatePodSpecSecurityContext in pkg/apis/core/validation/validation.go. */

const SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
const SYSCTL = `^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`
const sysctlPattern = new RegExp(SYSCTL)

/** `hostUsers`: whether the pod is in the node's user namespace. */
export function validateSecurityContext(context: SecurityContext, hostUsers: boolean, path: string): readonly Cause[] {
  const { runAsUser, runAsGroup, procMount, allowPrivilegeEscalation, privileged, capabilities, seccompProfile, appArmorProfile } = context
  const causes: Cause[] = [...validID(at(path, "runAsUser"), runAsUser), ...validID(at(path, "runAsGroup"), runAsGroup)]
  if (procMount === "Unmasked" && hostUsers) causes.push(invalidValue(at(path, "procMount"), procMount, "`hostUsers` must be false to use `Unmasked`"))
  if (allowPrivilegeEscalation === false) {
    if (privileged === true) causes.push(invalidValue(path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
    if (capabilities?.add?.includes("CAP_SYS_ADMIN") === true) causes.push(invalidValue(path, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
  }
  if (seccompProfile !== undefined) causes.push(...validateSeccomp(seccompProfile, at(path, "seccompProfile")))
  if (appArmorProfile !== undefined) causes.push(...validateAppArmor(appArmorProfile, at(path, "appArmorProfile")))
  return causes
}

export function validatePodSecurityContext(context: PodSecurityContext, spec: PodSpec, path: string): readonly Cause[] {
  const { fsGroup, runAsUser, runAsGroup, supplementalGroups = [], sysctls = [], seccompProfile, appArmorProfile } = context
  const causes: Cause[] = [
    ...validID(at(path, "fsGroup"), fsGroup), ...validID(at(path, "runAsUser"), runAsUser), ...validID(at(path, "runAsGroup"), runAsGroup),
    ...supplementalGroups.flatMap((group, i) => validID(at(path, "supplementalGroups", i), group)),
  ]
  if (spec.shareProcessNamespace === true && spec.hostPID === true)
    causes.push(invalidValue(at(path, "shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled"))
  const seen = new Set<string>()
  for (const [i, { name }] of sysctls.entries()) {
    const here = at(path, "sysctls", i, "name")
    if (name.length > 253 || !sysctlPattern.test(name)) causes.push(invalidValue(here, name, `must have at most 253 characters and match regex ${SYSCTL}`))
    else if (seen.has(name)) causes.push(duplicate(here, name))
    seen.add(name)
    const dotted = name.replaceAll("/", ".")
    if (spec.hostNetwork === true && dotted.startsWith("net.")) causes.push(invalidValue(here, name, "may not be specified when 'hostNetwork' is true"))
    else if (spec.hostIPC === true && /^(kernel\.(sem|shm|msg)|fs\.mqueue\.)/.test(dotted)) causes.push(invalidValue(here, name, "may not be specified when 'hostIPC' is true"))
  }
  if (seccompProfile !== undefined) causes.push(...validateSeccomp(seccompProfile, at(path, "seccompProfile")))
  if (appArmorProfile !== undefined) causes.push(...validateAppArmor(appArmorProfile, at(path, "appArmorProfile")))
  return causes
}

function validID(field: string, id: number | undefined): readonly Cause[] {
  const problem = id === undefined ? undefined : isUserOrGroupID(id)
  return problem === undefined ? [] : [invalidValue(field, id, problem)]
}

function validateSeccomp(profile: SeccompProfile, path: string): readonly Cause[] {
  const { type, localhostProfile } = profile
  const here = at(path, "localhostProfile")
  if (type !== "Localhost") return localhostProfile === undefined ? [] : [invalidValue(here, profile, "can only be set when seccomp type is Localhost")]
  return localhostProfile === undefined ? [required(here, "must be set when seccomp type is Localhost")] : localPath(here, localhostProfile)
}

function validateAppArmor({ type, localhostProfile }: AppArmorProfile, path: string): readonly Cause[] {
  const here = at(path, "localhostProfile")
  if (type !== "Localhost") return localhostProfile === undefined ? [] : [invalidValue(here, localhostProfile, "can only be set when AppArmor type is Localhost")]
  if (localhostProfile === undefined || localhostProfile === "") return [required(here, "must be set when AppArmor type is Localhost")]
  if (localhostProfile.trim() !== localhostProfile) return [invalidValue(here, localhostProfile, "must not be padded with whitespace")]
  // the longest path that Linux takes, without its end
  return localhostProfile.length > 4095 ? [tooLong(here, 4095)] : []
}
