import { procSelf } from "./proc-self.ts"

/** The limit that is assumed where the system does not tell it. */
const USUAL = 256

/**
 * Returns how many files, sockets among them, this process may have open. Bun raises the soft limit to the hard one
 * before any of our code runs, which needs no rights; `test/attacks/connections.test.ts` checks that it does.
 */
export function openFilesLimit(): number {
  const [, soft] = /Max open files\s+(\d+|unlimited)/.exec(procSelf("limits")) ?? []
  return soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft ?? USUAL)
}
