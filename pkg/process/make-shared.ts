import { join, relative } from "node:path"
import { mountOf, mountPath, mountPoints, type MountPoint } from "./mount-points.ts"
import { run } from "./run.ts"

/**
 * Makes mounts propagate in both directions between the machine and containers that mount the folder, as
 * mountPropagation requires. When the folder is on a private mount, it becomes a mount of itself, with everything that
 * is mounted below it. Source: MakeRShared in pkg/volume/util/hostutil/hostutil_linux.go.
 */
export async function makeShared(folder: string): Promise<void> {
  const place = await mountPath(folder)
  const mount = mountOf(place, await mountPoints())
  if (mount?.isShared === true) return
  if (mount?.path !== place) await run("mount", ["--no-canonicalize", "--rbind", "--", folder, folder])
  await run("mount", ["--no-canonicalize", "--make-rshared", "--", folder])
}

/**
 * Removes the mount that `makeShared` has made; a mount of another program stays. Nothing may be mounted below the
 * folder.
 */
export async function endShared(folder: string): Promise<void> {
  if (isMountOfItself(await mountPath(folder), await mountPoints()))
    await run("umount", ["--no-canonicalize", "--lazy", "--", folder])
}

/** Returns whether the newest mount on the folder shows what the folder would show without that mount. */
export function isMountOfItself(folder: string, mounts: readonly MountPoint[]): boolean {
  const own = mounts.findLast(({ path }) => path === folder)
  const around = mountOf(
    folder,
    mounts.filter((mount) => mount !== own),
  )
  if (own === undefined || around === undefined || own.device !== around.device) return false
  return own.root === join(around.root, relative(around.path, folder))
}
