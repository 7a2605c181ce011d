import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ServiceAccountTokenProjection } from "../../../../pkg/api/core/v1/volume/volume-projected.ts"
import { effective } from "../../security/security-context.ts"
import { DEFAULT_MODE, type Contents } from "../contents.ts"

/**
 * The mode of a token for a user or group other than root; the group gets its right with the ownership of the volume.
 */
const PRIVATE_MODE = 0o600

/** Returns a token of the pod's service account as a file. Source: pkg/volume/projected. */
export const tokenContents = (
  { audience = "", expirationSeconds, path }: ServiceAccountTokenProjection,
  defaultMode = DEFAULT_MODE,
): Contents => ({
  references: [],
  fromPod: false,
  hasToken: true,
  async files({ pod, token }) {
    const user = onlyUser(pod)
    const hasReader = user !== undefined || pod.spec.securityContext.fsGroup !== undefined
    const mode = hasReader ? PRIVATE_MODE : defaultMode
    const data = await token(audience, expirationSeconds)
    return new Map([[path, { data, mode, ...(user === undefined ? {} : { user }) }]])
  },
})

/** Returns the user id of the pod's containers if all set the same one. Source: pkg/volume/util FsUserFrom. */
function onlyUser(pod: Pod): number | undefined {
  const users = new Set(
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
      (container) => effective(pod, container).runAsUser,
    ),
  )
  return users.size === 1 ? [...users][0] : undefined
}
