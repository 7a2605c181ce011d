/** Maps volumes of a pod to mounts of one of its containers. Source: makeMounts in pkg/kubelet/kubelet_pods.go. */
import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { VolumeMount } from "../../../pkg/api/core/v1/container/container.ts"
import type { Mount } from "../../../pkg/cri/container.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { expand, ExpansionError } from "../env/expansion.ts"
import { configError } from "../model/start-error.ts"
import { valuesByName, type EnvironmentValue, type EnvironmentVariable } from "../model/environment-variable.ts"
import type { MountedVolume, MountedVolumes } from "../model/mounted-volume.ts"
import { subPathsFolder } from "./volume-paths.ts"

export interface ContainerMountsRequest {
  readonly pod: Pod
  readonly container: AnyContainer
  readonly mounted: MountedVolumes
  readonly environment: readonly EnvironmentVariable[]
}

/** What was logged of a volume's subPaths, as long as it is mounted. */
export type ToldSubPaths = WeakMap<MountedVolume, Set<string>>

/**
 * Returns the mounts in the order of the container's volumeMounts. What is wrong with a subPath is logged once, not at
 * every try to start the container: `told` keeps it. @throws StartError CreateContainerConfigError
 */
export async function containerMounts(
  context: KubeletContext,
  told: ToldSubPaths,
  { pod, container, mounted, environment }: ContainerMountsRequest,
): Promise<readonly Mount[]> {
  const wantsRecursive =
    container.volumeMounts?.some(({ recursiveReadOnly = "Disabled" }) => recursiveReadOnly !== "Disabled") === true
  const supportsRecursive = wantsRecursive && (await supportsRecursiveReadOnly(context, pod))
  const values = valuesByName(environment)
  const mounts: Mount[] = []
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const volume = mounted.get(mount.name)
    if (volume === undefined || volume.isDevice === true)
      throw configError(
        `cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(container.name)}`,
      )
    const subPath = subPathOf(mount, values)
    const target = () =>
      join(subPathsFolder(context.config, pod.metadata.uid!), mount.name, container.name, String(index))
    mounts.push({
      containerPath: mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`,
      ...(volume.image !== undefined
        ? { image: { image: volume.image }, imageSubPath: subPath }
        : {
            hostPath:
              subPath === ""
                ? volume.hostPath
                : await bound(context, told, { volume, subPath, target: target(), container: container.name }),
          }),
      readonly: mount.readOnly === true || volume.readOnly,
      propagation: PROPAGATION[mount.mountPropagation ?? "None"],
      ...(recursiveReadOnly(mount, supportsRecursive) ? { recursiveReadOnly: true } : {}),
      ...(volume.selinuxRelabel === true ? { selinuxRelabel: true } : {}),
    })
  }
  return mounts
}

const PROPAGATION = {
  None: "PROPAGATION_PRIVATE",
  HostToContainer: "PROPAGATION_HOST_TO_CONTAINER",
  Bidirectional: "PROPAGATION_BIDIRECTIONAL",
} as const

/** The longest path that Linux opens, in bytes, without the NUL behind it. Source: PATH_MAX of linux/limits.h. */
const MAX_PATH_BYTES = 4095

/** Returns the subPath of a volume mount; `""` for the whole volume. */
function subPathOf(
  { subPath = "", subPathExpr = "" }: VolumeMount,
  values: ReadonlyMap<string, EnvironmentValue>,
): string {
  const path = subPathExpr === "" ? subPath : expandedPath(subPathExpr, values)
  if (path.startsWith("/")) throw configError(`error SubPath \`${path}\` must not be an absolute path`)
  if (path.split("/").includes(".."))
    throw configError(`unable to provision SubPath \`${path}\`: must not contain '..'`)
  return path
}

function expandedPath(expression: string, values: ReadonlyMap<string, EnvironmentValue>): string {
  const missing = new Set<string>()
  let path: EnvironmentValue
  try {
    path = expand(
      expression,
      (name) => {
        const value = values.get(name)
        if (value === undefined || value.length === 0) missing.add(name)
        return value
      },
      MAX_PATH_BYTES,
    )
  } catch (err) {
    if (!(err instanceof ExpansionError)) throw err
    throw configError(`the expanded subPathExpr has more than ${MAX_PATH_BYTES} bytes, the longest path of Linux`)
  }
  if (missing.size > 0) throw configError(`missing value for ${[...missing].sort().join(", ")}`)
  if (typeof path !== "string") throw configError(`the expanded subPathExpr ${JSON.stringify(expression)} is not UTF-8`)
  return path
}

interface BoundRequest {
  readonly volume: MountedVolume
  readonly subPath: string
  readonly target: string
  readonly container: string
}

async function bound(
  { runtime, log }: KubeletContext,
  told: ToldSubPaths,
  { volume, subPath, target, container }: BoundRequest,
): Promise<string> {
  try {
    return await runtime.volumes.bindSubPath({ volume: volume.hostPath, subPath, target })
  } catch (err) {
    // The exact reason is only logged, since it could tell the pod about files of the host.
    const said = `${container} ${subPath} ${errorMessage(err)}`
    const before = told.get(volume)
    if (before?.has(said) !== true)
      log.warn("Failed to prepare a subPath", { container, volume: volume.name, subPath, err })
    told.set(volume, (before ?? new Set()).add(said))
    throw configError(
      `failed to prepare subPath for volumeMount ${JSON.stringify(volume.name)} of container ` +
        `${JSON.stringify(container)}`,
      err,
    )
  }
}

/**
 * Returns whether the mount is recursively read-only. KEP-3857. Source: resolveRecursiveReadOnly in
 * pkg/kubelet/kubelet_pods.go.
 */
function recursiveReadOnly(
  { name, readOnly, recursiveReadOnly: mode = "Disabled", mountPropagation = "None" }: VolumeMount,
  supported: boolean,
): boolean {
  if (mode === "Disabled") return false
  const refused = (why: string) =>
    configError(
      `failed to resolve recursive read-only mode: volume ${JSON.stringify(name)} requested recursive ` +
        `read-only mode, but it is ${why}`,
    )
  if (readOnly !== true) throw refused("not read-only")
  if (mountPropagation !== "None") throw refused(`not compatible with propagation ${JSON.stringify(mountPropagation)}`)
  if (mode === "Enabled" && !supported) throw refused("not supported by the runtime")
  return supported
}

async function supportsRecursiveReadOnly(
  { runtime }: KubeletContext,
  { spec: { runtimeClassName = "" } }: Pod,
): Promise<boolean> {
  const { runtimeHandlers } = await runtime.containers.status()
  return runtimeHandlers.find(({ name }) => name === runtimeClassName)?.features?.recursiveReadOnlyMounts === true
}
