import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, atKey, forbiddenField, invalidValue, NO_CAUSES } from "../../../../apimachinery/validation/field-errors.ts"
import { localPath } from "../path-validation.ts"
import type { PodSpec } from "./podspec.ts"
import type { SecurityContext } from "../container/securitycontext.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates the annotations that named security profiles before there were fields. They must be well formed and agree
 * with the fields. Source: ValidateSeccompPodAnnotations, ValidateAppArmorPodAnnotations and what they call in
 * pkg/apis/core/validation/validation.go.
 */
export const SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
export const SECCOMP_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"
export const APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
export const APPARMOR_DEPRECATION = 'deprecated since v1.30; use the "appArmorProfile" field instead'
const RUNTIME = "runtime/default"
const DOCKER = "docker/default"
const UNCONFINED = "unconfined"
const LOCALHOST = "localhost/"

type Annotations = Readonly<Record<string, string>>
type Profile = { readonly type: string; readonly localhostProfile?: string | undefined }
const LISTS = ["containers", "initContainers", "ephemeralContainers"] as const

export function seccompFaults(key: string, value: string): readonly Cause[] {
  if (value === RUNTIME || value === DOCKER || value === UNCONFINED) return NO_CAUSES
  return value.startsWith(LOCALHOST)
    ? localPath(key, value.slice(LOCALHOST.length))
    : [invalidValue(key, value, "must be a valid seccomp profile")]
}

export function apparmorFaults(key: string, value: string, spec: PodSpec): readonly Cause[] {
  const container = key.slice(APPARMOR_PREFIX.length)
  const known = LISTS.some((list) => spec[list]?.some(({ name }) => name === container) === true)
  const formed = value === "" || value === RUNTIME || value === UNCONFINED || value.startsWith(LOCALHOST)
  return [
    ...(known ? [] : [invalidValue(atKey("", key), container, "container not found")]),
    ...(formed ? [] : [invalidValue(atKey("", key), value, `invalid AppArmor profile name: ${JSON.stringify(value)}`)]),
  ]
}

/** Returns the faults of annotations that differ from the fields. Paths are relative to the pod's spec. */
export function profileFaults(annotations: Annotations | undefined, spec: PodSpec): readonly Cause[] {
  if (annotations === undefined) return NO_CAUSES
  const keys = Object.keys(annotations)
  const seccomp = keys.some((key) => key === SECCOMP_POD || key.startsWith(SECCOMP_PREFIX))
  const apparmor = spec.os?.name !== "windows" && keys.some((key) => key.startsWith(APPARMOR_PREFIX))
  if (!seccomp && !apparmor) return NO_CAUSES
  const causes: Cause[] = [
    ...mismatch(
      "seccomp",
      annotations[SECCOMP_POD],
      spec.securityContext?.seccompProfile,
      "securityContext.seccompProfile",
    ),
  ]
  const containers = LISTS.flatMap((list) =>
    (spec[list] ?? []).map((container, i) => ({ container, path: at(list, i, "securityContext") })),
  )
  for (const { container, path } of containers)
    pushAll(
      causes,
      mismatch(
        "seccomp",
        annotations[SECCOMP_PREFIX + container.name],
        container.securityContext?.seccompProfile,
        at(path, "seccompProfile"),
      ),
    )
  if (!apparmor) return causes
  for (const { container, path } of containers)
    pushAll(
      causes,
      mismatch(
        "apparmor",
        annotations[APPARMOR_PREFIX + container.name],
        container.securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile,
        at(path, "appArmorProfile"),
      ),
    )
  return causes
}

function mismatch(
  kind: "seccomp" | "apparmor",
  annotation: string | undefined,
  profile: Profile | undefined,
  path: string,
): readonly Cause[] {
  if (annotation === undefined || profile === undefined) return NO_CAUSES
  const wrong = (field: string, what: string) => [
    forbiddenField(at(path, field), `${kind} ${what} in annotation and field must match`),
  ]
  switch (profile.type) {
    case "Unconfined":
      return annotation === UNCONFINED ? NO_CAUSES : wrong("type", "type")
    case "RuntimeDefault":
      return annotation === RUNTIME || (kind === "seccomp" && annotation === DOCKER) ? NO_CAUSES : wrong("type", "type")
    case "Localhost":
      if (!annotation.startsWith(LOCALHOST)) return wrong("type", "type")
      return annotation.slice(LOCALHOST.length) === profile.localhostProfile
        ? NO_CAUSES
        : wrong("localhostProfile", "profile")
    default:
      return NO_CAUSES
  }
}

/**
 * Returns the spec of a new pod, in which containers have the AppArmor profiles that annotations name. Source:
 * applyAppArmorVersionSkew in pkg/registry/core/pod/strategy.go.
 */
export function withProfiles(
  spec: PodSpec,
  annotations: Annotations | undefined,
  warn: (text: string) => void,
): PodSpec {
  if (spec.os?.name === "windows" || annotations === undefined) return spec
  if (!Object.keys(annotations).some((key) => key.startsWith(APPARMOR_PREFIX))) return spec
  const podProfile = spec.securityContext?.appArmorProfile
  const profiled = <C extends NamedContainer>(container: C): C => {
    const key = APPARMOR_PREFIX + container.name
    const annotation = annotations[key]
    const { securityContext } = container
    if (annotation === undefined || securityContext?.appArmorProfile !== undefined) return container
    const profile = annotatedProfile(annotation)
    if (profile !== undefined && deepEqual(profile, podProfile)) return container
    warn(`metadata.annotations[${key}]: ${APPARMOR_DEPRECATION}`)
    if (profile === undefined) return container
    return { ...container, securityContext: { ...securityContext, appArmorProfile: profile } }
  }
  const { containers, initContainers, ephemeralContainers } = spec
  return {
    ...spec,
    containers: containers.map(profiled),
    ...(initContainers && { initContainers: initContainers.map(profiled) }),
    ...(ephemeralContainers && { ephemeralContainers: ephemeralContainers.map(profiled) }),
  }
}
interface NamedContainer {
  readonly name: string
  readonly securityContext?: SecurityContext | undefined
}

/** Returns the profile that an annotation names; undefined when it names none. */
export function annotatedProfile(annotation: string | undefined): Profile | undefined {
  if (annotation === UNCONFINED) return { type: "Unconfined" }
  if (annotation === RUNTIME) return { type: "RuntimeDefault" }
  const file = annotation?.startsWith(LOCALHOST) === true ? annotation.slice(LOCALHOST.length) : ""
  return file === "" || file.trim() !== file || file.length > LONGEST_FILE
    ? undefined
    : { type: "Localhost", localhostProfile: file }
}
/** The longest path of a profile that the field allows, in characters. */
const LONGEST_FILE = 4095
