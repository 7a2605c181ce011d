import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  NO_CAUSES,
  notSupported,
  required,
  tooLong,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import { isUserOrGroupID } from "../../../../apimachinery/validation/names.ts"
import { SeccompProfile, SecurityContext, type AppArmorProfile, type PodSecurityContext } from "./securitycontext.ts"
import type { PodSpec } from "../pod/podspec.ts"
import { localPath } from "../path-validation.ts"
import { validateWindowsOptions } from "../pod/windows-validation.ts"

/**
 * Validates security contexts. Source: ValidateSecurityContext and validatePodSpecSecurityContext in
 * pkg/apis/core/validation/validation.go.
 */

const SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
const SYSCTL = `^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`
const sysctlPattern = new RegExp(SYSCTL)

/** `hostUsers`: whether the pod runs in the node's user namespace. */
export function validateSecurityContext(context: SecurityContext, hostUsers: boolean): readonly Cause[] {
  const {
    runAsUser,
    runAsGroup,
    procMount,
    allowPrivilegeEscalation,
    privileged,
    capabilities,
    seccompProfile,
    appArmorProfile,
    windowsOptions,
  } = context
  const causes: Cause[] = [...validID("runAsUser", runAsUser), ...validID("runAsGroup", runAsGroup)]
  if (procMount === "Unmasked" && hostUsers)
    causes.push(invalidValue("procMount", procMount, "`hostUsers` must be false to use `Unmasked`"))
  if (allowPrivilegeEscalation === false) {
    if (privileged === true)
      causes.push(
        invalidValue(
          "",
          goForm(SecurityContext, context),
          "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        ),
      )
    if (capabilities?.add?.includes("CAP_SYS_ADMIN") === true)
      causes.push(
        invalidValue(
          "",
          goForm(SecurityContext, context),
          "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        ),
      )
  }
  if (seccompProfile !== undefined) within(causes, validateSeccomp(seccompProfile), "seccompProfile")
  if (windowsOptions !== undefined) within(causes, validateWindowsOptions(windowsOptions), "windowsOptions")
  if (appArmorProfile !== undefined) within(causes, validateAppArmor(appArmorProfile), "appArmorProfile")
  return causes
}

const RECURSIVE: readonly string[] = ["Recursive"]
const CHANGE_POLICIES: readonly string[] = ["MountOption", "Recursive"]

export function validatePodSecurityContext(
  context: PodSecurityContext,
  spec: PodSpec,
  old?: PodSpec,
): readonly Cause[] {
  const {
    fsGroup,
    runAsUser,
    runAsGroup,
    supplementalGroups = [],
    sysctls = [],
    seccompProfile,
    appArmorProfile,
    windowsOptions,
    seLinuxChangePolicy,
  } = context
  const causes: Cause[] = [
    ...validID("fsGroup", fsGroup),
    ...validID("runAsUser", runAsUser),
    ...validID("runAsGroup", runAsGroup),
  ]
  for (let i = 0; i < supplementalGroups.length; i++)
    within(causes, validID("", supplementalGroups[i]), "supplementalGroups", i)
  if (spec.shareProcessNamespace === true && spec.hostPID === true)
    causes.push(invalidValue("shareProcessNamespace", true, "ShareProcessNamespace and HostPID cannot both be enabled"))
  const seen = new Set<string>()
  // The feature gate for MountOption is off in Kubernetes 1.36. A pod that has any policy already may change it to
  // every other one.
  const policies = old?.securityContext.seLinuxChangePolicy === undefined ? RECURSIVE : CHANGE_POLICIES
  if (seLinuxChangePolicy !== undefined && !policies.includes(seLinuxChangePolicy))
    causes.push(notSupported("seLinuxChangePolicy", seLinuxChangePolicy, policies))
  for (const [i, { name }] of sysctls.entries()) {
    if (name === "") continue
    const here = at("sysctls", i, "name")
    if (name.length > 253 || !sysctlPattern.test(name))
      causes.push(invalidValue(here, name, `must have at most 253 characters and match regex ${SYSCTL}`))
    else if (seen.has(name)) causes.push(duplicate(here, name))
    seen.add(name)
    const dotted = name.replaceAll("/", ".")
    if (spec.hostNetwork === true && dotted.startsWith("net."))
      causes.push(invalidValue(here, name, "may not be specified when 'hostNetwork' is true"))
    else if (spec.hostIPC === true && /^(kernel\.(sem|shm|msg)|fs\.mqueue\.)/.test(dotted))
      causes.push(invalidValue(here, name, "may not be specified when 'hostIPC' is true"))
  }
  if (seccompProfile !== undefined) within(causes, validateSeccomp(seccompProfile), "seccompProfile")
  if (windowsOptions !== undefined) within(causes, validateWindowsOptions(windowsOptions), "windowsOptions")
  if (appArmorProfile !== undefined) within(causes, validateAppArmor(appArmorProfile), "appArmorProfile")
  return causes
}

function validID(field: string, id: number | undefined): readonly Cause[] {
  const problem = id === undefined ? undefined : isUserOrGroupID(id)
  return problem === undefined ? NO_CAUSES : [invalidValue(field, id, problem)]
}

const LOCAL = "localhostProfile"

function validateSeccomp(profile: SeccompProfile): readonly Cause[] {
  const { type, localhostProfile } = profile
  if (type !== "Localhost")
    return localhostProfile === undefined
      ? NO_CAUSES
      : [invalidValue(LOCAL, goForm(SeccompProfile, profile), "can only be set when seccomp type is Localhost")]
  return localhostProfile === undefined
    ? [required(LOCAL, "must be set when seccomp type is Localhost")]
    : localPath(LOCAL, localhostProfile)
}

function validateAppArmor({ type, localhostProfile }: AppArmorProfile): readonly Cause[] {
  if (type !== "Localhost")
    return localhostProfile === undefined || !APPARMOR_TYPES.includes(type)
      ? NO_CAUSES
      : [invalidValue(LOCAL, localhostProfile, "can only be set when AppArmor type is Localhost")]
  if (localhostProfile === undefined || localhostProfile === "")
    return [required(LOCAL, "must be set when AppArmor type is Localhost")]
  const causes: Cause[] = []
  if (localhostProfile.trim() !== localhostProfile)
    causes.push(invalidValue(LOCAL, localhostProfile, "must not be padded with whitespace"))
  if (Buffer.byteLength(localhostProfile) > LONGEST_PATH) causes.push(tooLong(LOCAL, LONGEST_PATH))
  return causes
}
const APPARMOR_TYPES: readonly string[] = ["RuntimeDefault", "Unconfined"]
/** The longest path on Linux, without the terminating NUL. */
const LONGEST_PATH = 4095
