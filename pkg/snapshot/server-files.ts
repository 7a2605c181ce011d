/**
 * The files of `<data-dir>/server` that belong to the cluster and are not in its database: certificate authorities, the
 * key of service accounts, encryption keys, the administrator's token, manifests.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { fileError } from "../files/files.ts"
import { SnapshotError } from "./format.ts"
import type { SnapshotFile } from "./records.ts"

/** The database's folder. A snapshot contains the database as objects instead. */
const DATABASE = "db"
/** Files of running processes, and temporary files that a killed process has left. */
const OF_PROCESS = /\.(pid|sock|tmp)$/
const MOST_FILES = 10_000
const MOST_FILE_BYTES = 16 * 2 ** 20
const MOST_PATH = 1024

/** Reads the files in the order of their paths. Symbolic links are left out. @throws Error that names the file */
export function readServerFiles(server: string): readonly SnapshotFile[] {
  const files: SnapshotFile[] = []
  const visit = (folder: string) => {
    for (const entry of readdirSync(join(server, folder), { withFileTypes: true }).sort(byName)) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (path === DATABASE || OF_PROCESS.test(path)) continue
      if (entry.isDirectory()) visit(path)
      else if (entry.isFile()) files.push({ path, content: contentOf(join(server, path)) })
      if (files.length > MOST_FILES)
        throw new Error(
          `Cannot save ${server}: it has more than ${MOST_FILES} files; move files away that k3ts did not create`,
        )
    }
  }
  visit("")
  return files
}

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1)

function contentOf(path: string): Uint8Array {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size } = fstatSync(fd)
    if (size > MOST_FILE_BYTES) throw new Error(`it has ${size} bytes, the limit is ${MOST_FILE_BYTES}; move it away`)
    return readFileSync(fd)
  } catch (err) {
    throw fileError("save", path, err)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/**
 * Writes a file of a snapshot below `server`, readable by its owner only, and syncs it to disk.
 * @throws SnapshotError for a path that leads elsewhere or that exists already
 */
export function writeServerFile(server: string, { path, content }: SnapshotFile): void {
  const parts = path.split("/")
  const isPlain = parts.every((part) => part !== "" && part !== "." && part !== ".." && !/[\0\\]/.test(part))
  if (!isPlain || path.length > MOST_PATH || parts[0] === DATABASE || OF_PROCESS.test(path))
    throw new SnapshotError(`Cannot restore the file ${JSON.stringify(path)}: a snapshot never contains this path`)
  const target = join(server, path)
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    const fd = openSync(target, "wx", 0o600)
    try {
      writeFileSync(fd, content)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (err) {
    throw fileError("write", target, err)
  }
}
