import { mountOf, mountPoints } from "./mount-points.ts"
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
