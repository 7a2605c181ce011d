import { closeSync, constants, fstatSync, openSync, readFileSync, statSync, type Stats } from "node:fs"
import { fileError } from "./files.ts"

/** A path at which there is something else than a regular file of a bearable size. */
export class NoRegularFile extends Error {
  override readonly name = "NoRegularFile"
}

/**
 * Returns the content of a regular file; undefined when it does not exist. Nothing else is opened: a FIFO would keep
 * the whole process until somebody writes to it, and to open a device may do anything. Links are followed.
 * @throws NoRegularFile for anything else, and for a file of more than `mostBytes`; Error that names the mend
 */
export function readRegularFile(path: string, mostBytes: number): string | undefined {
  let fd: number | undefined
  try {
    refuseOthers(path, statSync(path), mostBytes)
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    refuseOthers(path, fstatSync(fd), mostBytes) // it may have been replaced since
    return readFileSync(fd, "utf8")
  } catch (err) {
    if (err instanceof NoRegularFile) throw err
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw fileError("read", path, err)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function refuseOthers(path: string, stats: Stats, mostBytes: number): void {
  if (!stats.isFile()) throw new NoRegularFile(`Cannot read ${path}: it is ${kindOf(stats)}, no file; remove it`)
  if (stats.size > mostBytes)
    throw new NoRegularFile(`Cannot read ${path}: it has ${stats.size} bytes, more than ${mostBytes}; split it`)
}

const kindOf = (stats: Stats): string =>
  stats.isDirectory() ? "a folder" : stats.isFIFO() ? "a FIFO" : stats.isSocket() ? "a socket" : "a device"
