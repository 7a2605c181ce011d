import { accessSync, constants, statSync } from "node:fs"
import { errorMessage } from "../errors/error-message.ts"

/** What is wrong and how to mend it, by error code. */
const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file: write it, or name another one",
  ENOTDIR: "a part of its path is no folder: name another file",
  EACCES: "permission denied: let the user of this program read it, or run as root",
  ELOOP: "it is a symbolic link that leads to itself: name another file",
  ENAMETOOLONG: "its name is too long: name another file",
}

/**
 * Returns why a file cannot be read, with the mend; undefined where it can. A FIFO may be one, as `<(command)` of a
 * shell is, and is not opened.
 */
export function unreadable(path: string): string | undefined {
  try {
    const stats = statSync(path)
    if (stats.isDirectory()) return "it is a folder: name a file in it"
    if (stats.isSocket()) return "it is a socket: name a file"
    accessSync(path, constants.R_OK)
    return undefined
  } catch (err) {
    return FAULTS[(err as NodeJS.ErrnoException).code ?? ""] ?? errorMessage(err)
  }
}
