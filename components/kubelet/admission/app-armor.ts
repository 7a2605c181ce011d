import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { containersOf } from "../container/containers.ts"

/** How manifests said it before there was a field; static pods still may. */
const ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"

/**
 * Why the profiles that the pod asks for cannot be enforced here, or nothing. Source:
 * pkg/security/apparmor/validate.go.
 */
export function appArmorProblem(pod: Pod, hasAppArmor: boolean): string | undefined {
  const containers = containersOf(pod)
  const profiles = [pod.spec.securityContext, ...containers.map(({ container }) => container.securityContext)].flatMap(
    (context) => context?.appArmorProfile ?? [],
  )
  const annotation = Object.entries(pod.metadata.annotations ?? {}).find(([key]) => key.startsWith(ANNOTATION))?.[1]
  const isRequired =
    profiles.some(({ type }) => type !== "Unconfined") || (annotation !== undefined && annotation !== "unconfined")
  if (!isRequired) return undefined
  if (!hasAppArmor) return "AppArmor is not enabled on the host"
  const nameless = profiles.find(
    ({ type, localhostProfile }) => type === "Localhost" && (localhostProfile ?? "").trim() === "",
  )
  return nameless === undefined
    ? undefined
    : `invalid empty AppArmor profile name: "${nameless.localhostProfile ?? ""}"`
}
