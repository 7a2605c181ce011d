import { isMissing } from "./missing.ts"
import { mountPath, mountPoints } from "../../../../../pkg/process/mount-points.ts"
import { run } from "../../../../../pkg/process/run.ts"

/**
 * Bind-mounts `from`. `--no-canonicalize` keeps `mount` from resolving the links in it, which is left to the kernel.
 */
export const bindMount = (from: string, to: string): Promise<unknown> =>
  run("mount", ["--no-canonicalize", "--bind", "--", from, to])

export const mountTmpfs = (folder: string, options: readonly string[]): Promise<unknown> =>
  run("mount", ["-t", "tmpfs", "-o", options.join(","), "--", "tmpfs", folder])

/** Unmounts lazily: a mount that is in use disappears from the tree at once, and ends with its last user. */
export async function unmount(path: string): Promise<void> {
  try {
    await run("umount", ["--no-canonicalize", "--", path])
  } catch (err) {
    if (!/busy/.test(String(err))) {
      // The mount may have disappeared together with the one below it.
      if (isMissing(err) || /not mounted|no mount point|not found/i.test(String(err))) return
      throw err
    }
    await run("umount", ["--no-canonicalize", "--lazy", "--", path])
  }
}

export async function isMounted(folder: string): Promise<boolean> {
  const place = await mountPath(folder)
  return (await mountPoints()).some(({ path }) => path === place)
}

/**
 * Unmounts everything at and below the folders, newest first, since a newer mount may be on top of an older one.
 * @throws Error when a mount is left
 */
export async function unmountBelow(folders: readonly string[]): Promise<void> {
  const places = await Promise.all(folders.map(mountPath))
  const below = async () =>
    (await mountPoints())
      .map(({ path }) => path)
      .filter((path) => places.some((place) => path === place || path.startsWith(`${place}/`)))
  const mounted = await below()
  if (mounted.length === 0) return
  for (const path of mounted.reverse()) await unmount(path)
  const left = await below()
  if (left.length > 0) throw new Error(`${left.join(", ")} cannot be unmounted`)
}
