import { readFileSync } from "node:fs"

/** Assumed where there is no /proc. */
const USUAL = 256

/**
 * How many files, sockets among them, this process may have open. Bun raises the soft limit to the hard one before any
 * of our code runs, which needs no rights; `test/attacks/connections.test.ts` holds it to that.
 */
export function openFilesLimit(): number {
  try {
    const [, soft] = /Max open files\s+(\d+|unlimited)/.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft ?? USUAL)
  } catch {
    return USUAL
  }
}
