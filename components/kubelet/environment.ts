import type { Pod } from "../../pkg/api/core/v1/pod.ts"
import type { AnyContainer } from "./containers.ts"
import type { EnvironmentVariable, MountedVolumes } from "./volumes.ts"

export interface EnvironmentRequest {
  readonly pod: Pod
  readonly container: AnyContainer
  /** Addresses of the pod, the main one first; none before the sandbox has one. */
  readonly podIps: readonly string[]
  readonly hostIps: readonly string[]
  /** For fileKeyRef. */
  readonly mounted: MountedVolumes
}

/** Makes the environment of containers. */
export interface Environment {
  /**
   * Every variable of the container, expanded, in the order in which the runtime shall set them: service links,
   * envFrom, env.
   * @throws StartError CreateContainerConfigError when a ConfigMap, Secret or key is missing that is not optional
   */
  of(request: EnvironmentRequest): Promise<readonly EnvironmentVariable[]>
  /** `$(VAR)` of command and args. Source: third_party/forked/golang/expansion. */
  expand(text: string, environment: readonly EnvironmentVariable[]): string
}
