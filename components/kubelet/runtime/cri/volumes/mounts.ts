import { isMissing } from "./missing.ts"
import { mountPoints } from "../../../../../pkg/process/mount-points.ts"
import { run } from "../../../../../pkg/process/run.ts"

/** `--no-canonicalize` where `from` is a link that must be followed by the kernel alone. */
export const bindMount = (from: string, to: string): Promise<unknown> =>
  run("mount", ["--no-canonicalize", "--bind", from, to])

export const mountTmpfs = (folder: string, options: readonly string[]): Promise<unknown> =>
  run("mount", ["-t", "tmpfs", "-o", options.join(","), "tmpfs", folder])

/** Ends a mount. One that is in use disappears from sight at once and ends with its last user. */
export async function unmount(path: string): Promise<void> {
  try {
    await run("umount", ["--no-canonicalize", path])
  } catch (err) {
    if (!/busy/.test(String(err))) {
      // It may have gone meanwhile, with a mount that it lay on.
      if (isMissing(err) || /not mounted|no mount point|not found/i.test(String(err))) return
      throw err
    }
    await run("umount", ["--no-canonicalize", "--lazy", path])
  }
}

/**
 * Ends all mounts at and below the folders, the newest first, as it may lie on an older one. @throws Error when one is
 * left
 */
export async function unmountBelow(folders: readonly string[]): Promise<void> {
  const below = async () =>
    (await mountPoints())
      .map(({ path }) => path)
      .filter((path) => folders.some((folder) => path === folder || path.startsWith(`${folder}/`)))
  const mounted = await below()
  if (mounted.length === 0) return
  for (const path of mounted.reverse()) await unmount(path)
  const left = await below()
  if (left.length > 0) throw new Error(`${left.join(", ")} cannot be unmounted`)
}
