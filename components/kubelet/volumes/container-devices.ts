import type { Device } from "../../../pkg/cri/container.ts"
import type { AnyContainer } from "../model/containers.ts"
import { configError } from "../model/start-error.ts"
import type { MountedVolumes } from "../model/mounted-volume.ts"

/**
 * Returns the block devices of a container, and their paths in it. Source: makeBlockVolumes in
 * pkg/kubelet/kubelet_pods.go. @throws StartError CreateContainerConfigError
 */
export const containerDevices = (container: AnyContainer, mounted: MountedVolumes): readonly Device[] =>
  (container.volumeDevices ?? []).map(({ name, devicePath }) => {
    if (!devicePath.startsWith("/")) throw configError(`error DevicePath \`${devicePath}\` must be an absolute path`)
    const volume = mounted.get(name)
    if (volume?.isDevice !== true)
      throw configError(
        `cannot find volume ${JSON.stringify(name)} to pass into container ${JSON.stringify(container.name)}`,
      )
    return { containerPath: devicePath, hostPath: volume.hostPath, permissions: volume.readOnly ? "r" : "mrw" }
  })
