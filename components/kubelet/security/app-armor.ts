import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { containersOf } from "../model/containers.ts"

/** The annotation from before the field existed, which static pods may still use. */
const ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"

/**
 * Returns why the AppArmor profiles of the pod cannot be enforced; undefined when they can. Source:
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
