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

/** A container could not be started. `message` is shown beside the reason. */
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
 * The container's configuration refers to something missing or forbidden: a ConfigMap, a key, a user. The start is
 * retried at the next sync.
 */
export const configError = (message: string, cause?: unknown): StartError =>
  new StartError("CreateContainerConfigError", message, { cause })

/** A volume cannot be mounted yet: the event FailedMount reports it, and the pod waits. */
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

/** An error whose message is that of the event FailedMount, with the name of the volume. */
export class MountMessage extends Error {}

/** A step of a PersistentVolume failed. */
export class MountError extends MountMessage {
  override readonly name = "MountError"
  /** `volume` is the name of the PersistentVolume. Source: pkg/volume/util/operationexecutor GenerateError. */
  constructor(step: "MountDevice" | "SetUp", volume: string, why: string, cause?: unknown) {
    super(`MountVolume.${step} failed for volume ${JSON.stringify(volume)} : ${why}`, { cause })
  }
}

/** A claim, or the volume to which it is bound, cannot be used. Source: WaitForAttachAndMount of pkg/kubelet/volumemanager. */
export class ClaimError extends MountMessage {
  override readonly name = "ClaimError"
  /** `volume` is the name of the pod's volume. */
  constructor(volume: string, why: string, cause?: unknown) {
    super(
      `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], ` +
        `failed to process volumes=[${volume}]: ${why}`,
      { cause },
    )
  }
}

/** The volume is not attached to the node yet. The pod waits without an event: the attacher tells what is wrong. */
export class NotAttached extends Error {
  override readonly name = "NotAttached"
}
