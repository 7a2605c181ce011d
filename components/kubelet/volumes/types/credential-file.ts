import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { PayloadFile } from "../../runtime/payload.ts"
import { effective } from "../../security/security-context.ts"

/**
 * The mode of a credential for a user or group other than root; the group gets its right with the ownership of the
 * volume.
 */
const PRIVATE_MODE = 0o600

/**
 * Returns a token, a key or certificates as a file, which only the pod's user may read if the pod names one. Source:
 * pkg/volume/projected.
 */
export function credentialFile(pod: Pod, data: PayloadFile["data"], defaultMode: number): PayloadFile {
  const user = onlyUser(pod)
  const hasReader = user !== undefined || pod.spec.securityContext.fsGroup !== undefined
  return { data, mode: hasReader ? PRIVATE_MODE : defaultMode, ...(user === undefined ? {} : { user }) }
}

/** Returns the user id of the pod's containers if all set the same one. Source: pkg/volume/util FsUserFrom. */
function onlyUser(pod: Pod): number | undefined {
  const users = new Set(
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
      (container) => effective(pod, container).runAsUser,
    ),
  )
  return users.size === 1 ? [...users][0] : undefined
}
