import { mkdirSync, statSync, watch, type FSWatcher } from "node:fs"
import type { Clock, Timer } from "../clock/clock.ts"

export interface WatchFolderOptions {
  readonly clock: Pick<Clock, "setTimeout">
  /** Whether folders below the folder are watched too. */
  readonly recursive?: boolean
  /** The mode with which a missing folder is created. */
  readonly mode: number
  /** Opens a watch of the kernel. Tests replace it. */
  readonly open?: typeof watch
}

/** The first and the longest delay before a lost watch is opened again, in milliseconds. */
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 30_000
/**
 * Milliseconds after a change at which it is reported again. Bun drops an event that follows another one of the same
 * entry within a millisecond or two: when a socket is removed and created again, only the removal would be reported.
 */
const ECHO_MS = 20

/**
 * Calls `changed` when entries of a folder change: with the name of one entry, or with undefined when any entry may
 * have changed. Each change is reported at once, and again 20 ms later if the entry has not changed since. A watch that
 * the kernel ends, or whose folder is removed, moved or replaced, is opened again; a missing folder is created. Returns
 * a function that ends the watch.
 * @throws Error when the first watch cannot be opened
 */
export function watchFolder(
  folder: string,
  changed: (name: string | undefined) => void,
  { clock, recursive = false, mode, open = watch }: WatchFolderOptions,
): () => void {
  let watcher: FSWatcher | undefined
  let retry: Timer | undefined
  let retryMs = FIRST_RETRY_MS
  const echoes = new Map<string | undefined, Timer>()

  const tell = (name: string | undefined): void => {
    echoes.get(name)?.cancel()
    const echo = (): void => {
      echoes.delete(name)
      changed(name)
    }
    echoes.set(name, clock.setTimeout(echo, ECHO_MS))
    changed(name)
  }

  const begin = (): void => {
    const opened = open(folder, { recursive })
    watcher = opened
    const identity = identityOf(folder)
    opened.on("error", () => lost(opened))
    opened.on("change", (_event, name) => {
      if (watcher !== opened) return
      // The kernel reports the removal of the folder itself as a change, and nothing after it.
      if (identityOf(folder) !== identity) return lost(opened)
      retryMs = FIRST_RETRY_MS
      tell(typeof name === "string" ? name : undefined)
    })
  }

  const lost = (ended: FSWatcher | undefined): void => {
    if (watcher !== ended) return
    watcher = undefined
    ended?.close()
    retry = clock.setTimeout(beginAgain, retryMs)
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
  }

  const beginAgain = (): void => {
    retry = undefined
    try {
      mkdirSync(folder, { recursive: true, mode })
      begin()
    } catch {
      return lost(undefined)
    }
    changed(undefined) // changes in the meantime were not reported
  }

  begin()
  return () => {
    retry?.cancel()
    for (const echo of echoes.values()) echo.cancel()
    const ended = watcher
    watcher = undefined
    ended?.close()
  }
}

/**
 * Returns a text that differs between folders that had the same path, also if the file system uses an inode number
 * again.
 */
function identityOf(folder: string): string | undefined {
  const found = statSync(folder, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}:${found.birthtimeNs}`
}
