import { join, relative } from "node:path"
import { mountOf, mountPoints, type MountPoint } from "./mount-points.ts"
import { run } from "./run.ts"

/**
 * Makes mounts below the folder come to containers that have it, and mounts of containers come to the machine, as
 * mountPropagation wants. Where the mount that it lies on is private, the folder becomes a mount of itself, with all
 * that is mounted below it already. Source: MakeRShared in pkg/volume/util/hostutil/hostutil_linux.go.
 */
export async function makeShared(folder: string): Promise<void> {
  const mount = mountOf(folder, await mountPoints())
  if (mount?.isShared === true) return
  if (mount?.path !== folder) await run("mount", ["--no-canonicalize", "--rbind", folder, folder])
  await run("mount", ["--no-canonicalize", "--make-rshared", folder])
}

/** Takes away what `makeShared` has mounted; a mount of somebody else stays. Below the folder nothing may be mounted. */
export async function endShared(folder: string): Promise<void> {
  if (isMountOfItself(folder, await mountPoints())) await run("umount", ["--no-canonicalize", "--lazy", folder])
}

/** Whether the folder shows just what it would show without the newest mount on it. */
export function isMountOfItself(folder: string, mounts: readonly MountPoint[]): boolean {
  const own = mounts.findLast(({ path }) => path === folder)
  const around = mountOf(
    folder,
    mounts.filter((mount) => mount !== own),
  )
  if (own === undefined || around === undefined || own.device !== around.device) return false
  return own.root === join(around.root, relative(around.path, folder))
}
