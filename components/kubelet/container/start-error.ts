/**
 * Reasons that users see in `state.waiting.reason` of a container that cannot start. Source: pkg/kubelet/kuberuntime,
 * pkg/kubelet/images/types.go.
 */
export type StartReason =
  | "ErrImagePull"
  | "ImagePullBackOff"
  | "ErrImageNeverPull"
  | "InvalidImageName"
  | "ImageInspectError"
  | "RegistryUnavailable"
  | "SignatureValidationFailed"
  | "CreateContainerConfigError"
  | "CreateContainerError"
  | "PreCreateHookError"
  | "RunContainerError"
  | "PostStartHookError"
  | "CrashLoopBackOff"

/** A container did not start. `message` is what users see beside the reason. */
export class StartError extends Error {
  override readonly name = "StartError"
  constructor(
    readonly reason: StartReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/**
 * The container's configuration names something that is not there or not allowed: a ConfigMap, a key, a user. Tried
 * again at the next sync.
 */
export const configError = (message: string, cause?: unknown): StartError =>
  new StartError("CreateContainerConfigError", message, { cause })

/** A volume that cannot be mounted yet: the event FailedMount tells of it, and the pod waits. */
export class VolumeError extends Error {
  override readonly name = "VolumeError"
  constructor(
    readonly volume: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
