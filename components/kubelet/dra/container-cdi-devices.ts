import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { RuntimeService } from "../../../pkg/cri/service.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { AnyContainer } from "../model/containers.ts"
import { configError } from "../model/start-error.ts"
import type { DraManager } from "./dra-manager.ts"

/**
 * Returns the names of the CDI devices that the container gets by its claims, and of those that device plugins give it.
 * Differs from upstream: a containerd that does not know CDI would start the container without its devices, so the
 * start is refused.
 * @throws StartError CreateContainerConfigError
 */
export async function containerCdiDevices(
  dra: DraManager,
  runtime: RuntimeService,
  pod: Pod,
  container: AnyContainer,
  given: readonly { readonly name: string }[],
): Promise<readonly string[]> {
  let names: readonly string[]
  try {
    names = [...new Set([...dra.cdiDevices(pod, container), ...given.map(({ name }) => name)])]
  } catch (err) {
    throw configError(errorMessage(err), err)
  }
  if (names.length === 0) return names
  const { runtimeName, runtimeVersion } = await runtime.version()
  if (runtimeName === "containerd" && /^v?1\.[0-6]\./.test(runtimeVersion))
    throw configError(
      `containerd ${runtimeVersion} cannot give containers the CDI devices ${names.join(", ")}: install 1.7 or later`,
    )
  return names
}
