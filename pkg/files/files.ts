/** Reads and writes whole files, with errors that name the file, what is wrong with it and what to do. */
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { errorMessage } from "../errors/error-message.ts"

/** What is wrong and how to mend it, by error code. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied; run as its owner or as root",
  EPERM: "it is not permitted; run as its owner or as root",
  EISDIR: "it is a folder; move it away",
  ENOTDIR: "a part of its path is no folder; move that away",
  ENOENT: "its folder does not exist; make it",
  ENOSPC: "no space left on the disk (ENOSPC); make room",
  EDQUOT: "the disk quota is used up; make room",
  EROFS: "the file system is read-only; choose another path",
  ELOOP: "it is a symbolic link that leads to itself; remove it",
  ENAMETOOLONG: "its name is too long; choose another path",
}

/** Returns an error about a file: `Cannot read /x: it is a folder; move it away`. `action` is a verb. */
export function fileError(action: string, path: string, cause: unknown): Error {
  const { code = "" } = cause as NodeJS.ErrnoException
  const reason = REASONS[code] ?? errorMessage(cause)
  return new Error(`Cannot ${action} ${path}: ${reason}`, { cause })
}

/** Returns the content of a file, or undefined when it does not exist. Any other failure is thrown. */
export function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw fileError("read", path, err)
  }
}

/**
 * Replaces `path` with `content` so that a reader sees the old or the new file and never a part. With `sync` it also
 * survives a power cut. When it fails, no part of the content is left behind, because it may be a key. Mode and owner
 * are set through the open file, so that another user who may write to the folder cannot have them set on another file.
 */
export function replaceFile(
  path: string,
  content: string,
  { mode, owner, sync = false }: { mode: number; owner?: { uid: number; gid: number } | undefined; sync?: boolean },
): void {
  const aside = `${path}.tmp`
  try {
    removeIfPossible(aside) // the file that a killed run left may have another mode
    const fd = openSync(aside, "wx", mode)
    try {
      if (owner !== undefined) fchownSync(fd, owner.uid, owner.gid)
      fchmodSync(fd, mode) // whatever the umask is
      writeFileSync(fd, content)
      if (sync) fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(aside, path)
  } catch (err) {
    removeIfPossible(aside)
    throw fileError("write", path, err)
  }
}

/**
 * Removes a file or folder that should not be there. A failure is ignored: the step before or after this one reports
 * it.
 */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // ignored, see above
  }
}
