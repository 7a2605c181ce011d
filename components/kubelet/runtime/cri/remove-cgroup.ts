import { readdirSync } from "node:fs"
import { rmdir } from "node:fs/promises"
import { join } from "node:path"
import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"

/** Attempts to remove one folder, and the milliseconds after the first; each wait is twice the one before. */
const ATTEMPTS = 6
const FIRST_WAIT_MS = 10

/**
 * Removes a cgroup and those below it by rmdir from the leaves up; the files in them need not be removed, and cannot
 * be. A process that has just ended keeps its cgroup busy for a moment (since Linux 6.18 until the processor has left
 * it), so a busy one is tried again, for 310 ms in all. One that stays busy is left. Source: runc libcontainer/cgroups
 * RemovePath.
 */
export async function removeCgroup(
  folder: string,
  clock: Clock,
  removeFolder: (path: string) => Promise<void> = rmdir,
): Promise<void> {
  for (const name of foldersOf(folder)) await removeCgroup(join(folder, name), clock, removeFolder)
  for (let attempt = 1; ; attempt++) {
    const { code } = (await removeFolder(folder).then(
      () => ({}),
      (error: unknown) => error,
    )) as { code?: string }
    if (code !== "EBUSY" || attempt === ATTEMPTS) return
    await sleep(clock, FIRST_WAIT_MS * 2 ** (attempt - 1))
  }
}

function foldersOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  } catch {
    return []
  }
}
