import { closeSync, openSync, statSync, writeSync } from "node:fs"

/**
 * Returns the bytes of a file as memory that this process shares with the kernel: what is written there outlives the
 * process, whatever ends it, and costs no system call. All of the file is written first where it has another size,
 * since a page for which the disk has no room would end the process. @throws Error of the file system
 */
export function sharedPage(path: string, bytes: number): Uint8Array {
  if (statSync(path, { throwIfNoEntry: false })?.size !== bytes) {
    const fd = openSync(path, "w", 0o600)
    try {
      writeSync(fd, new Uint8Array(bytes))
    } finally {
      closeSync(fd)
    }
  }
  return Bun.mmap(path, { shared: true })
}
