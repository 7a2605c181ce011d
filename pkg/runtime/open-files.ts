import { readFileSync } from "node:fs"

/** The limit that is assumed on a system without /proc. */
const USUAL = 256

/**
 * Returns how many files, sockets among them, this process may have open. Bun raises the soft limit to the hard one
 * before any of our code runs, which needs no rights; `test/attacks/connections.test.ts` checks that it does.
 */
export function openFilesLimit(): number {
  try {
    const [, soft] = /Max open files\s+(\d+|unlimited)/.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft ?? USUAL)
  } catch {
    return USUAL
  }
}
