import { createReadStream, createWriteStream, watch } from "node:fs"
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { basename, dirname } from "node:path"
import { pipeline } from "node:stream/promises"
import { createGzip } from "node:zlib"
import type { PodFiles } from "../runtime.ts"

const isMissing = (err: unknown): boolean =>
  err instanceof Error && "code" in err && (err.code === "ENOENT" || err.code === "ENOTDIR")

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (err) {
    if (isMissing(err)) return undefined
    throw err
  }
}

/** The host's own files. */
export const hostFiles: PodFiles = {
  async makeFolder(path, mode) {
    await mkdir(path, { recursive: true })
    // mkdir's mode is cut by the umask.
    if (mode !== undefined) await chmod(path, mode)
  },
  async write(path, text, mode) {
    await writeFile(path, text)
    if (mode !== undefined) await chmod(path, mode)
  },
  read: (path, tailBytes) =>
    unlessMissing(tailBytes === undefined ? readFile(path, "utf8") : readTail(path, tailBytes)),
  list: async (path) => (await unlessMissing(readdir(path))) ?? [],
  size: async (path) => (await unlessMissing(stat(path)))?.size,
  rename: (from, to) => rename(from, to),
  async compress(from, to) {
    await pipeline(createReadStream(from), createGzip(), createWriteStream(`${to}.tmp`))
    await rename(`${to}.tmp`, to)
    await rm(from)
  },
  open: async (path) => {
    const file = await unlessMissing(open(path))
    if (file === undefined) return undefined
    const { ino, dev } = await file.stat()
    return {
      async read(offset, length) {
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset)
        return buffer.subarray(0, bytesRead)
      },
      size: async () => (await file.stat()).size,
      async isCurrent() {
        const now = await unlessMissing(stat(path))
        return now?.ino === ino && now.dev === dev
      },
      close: () => file.close(),
    }
  },
  watch(path, changed) {
    // The folder, so that a file that takes the name of another is seen.
    const name = basename(path)
    const watcher = watch(dirname(path), (_event, file) => {
      if (file === name) changed()
    })
    watcher.on("error", () => watcher.close()) // the folder was removed
    return () => watcher.close()
  },
  watchFolder(path, changed) {
    const watcher = watch(path, changed)
    watcher.on("error", () => watcher.close())
    return () => watcher.close()
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
}

async function readTail(path: string, bytes: number): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const length = Math.min(size, bytes)
    const buffer = Buffer.alloc(length)
    await file.read(buffer, 0, length, size - length)
    return buffer.toString("utf8")
  } finally {
    await file.close()
  }
}
