import { constants, createReadStream, createWriteStream, watch } from "node:fs"
import { chmod, mkdir, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { basename, dirname } from "node:path"
import { pipeline } from "node:stream/promises"
import { createGzip } from "node:zlib"
import type { Clock } from "../../../../../pkg/clock/clock.ts"
import { run } from "../../../../../pkg/process/run.ts"
import { watchFolder } from "../../../../../pkg/process/watch-folder.ts"
import type { PodFiles } from "../../runtime.ts"
import { linksIn, makeLink, removeLink } from "./links.ts"
import { openFile } from "./open-file.ts"
import { openRegular } from "./regular-file.ts"
import { unlessMissing } from "../volumes/missing.ts"

/** The host's own files. */
export const hostFiles = (clock: Clock): PodFiles => ({
  async makeFolder(path, mode) {
    await mkdir(path, { recursive: true })
    // The umask limits the mode that mkdir sets.
    if (mode !== undefined) await chmod(path, mode)
  },
  async write(path, text, mode) {
    await writeFile(path, text)
    if (mode !== undefined) await chmod(path, mode)
  },
  read: readText,
  list: async (path) => (await unlessMissing(readdir(path))) ?? [],
  size: async (path) => (await unlessMissing(stat(path)))?.size,
  rename: (from, to) => rename(from, to),
  async allocate(path, bytes) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await run("fallocate", ["--length", String(bytes), "--", path])
  },
  compress,
  resolve: (path) => unlessMissing(realpath(path)),
  async open(path) {
    const file = await openRegular(path)
    return file === undefined ? undefined : openFile(file, path)
  },
  watch(path, changed) {
    // The folder is watched, so that a rename of another file to this name is seen.
    const name = basename(path)
    const watcher = watch(dirname(path), (_event, file) => {
      if (file === name) changed()
    })
    watcher.on("error", () => watcher.close()) // the folder was removed
    return () => watcher.close()
  },
  watchFolder: (path, changed) => watchFolder(path, () => changed(), { clock, mode: 0o755 }),
  remove: (path) => rm(path, { recursive: true, force: true }),
  links: linksIn,
  link: makeLink,
  unlink: removeLink,
})

/** A pod with the folder of logs can put anything in the place of both files: neither is followed to another place. */
async function compress(from: string, to: string): Promise<void> {
  const aside = `${to}.tmp`
  const file = await openRegular(from, constants.O_NOFOLLOW)
  if (file === undefined) throw new Error(`${from} is no regular file`)
  try {
    await rm(aside, { force: true, recursive: true })
    const source = createReadStream(`/proc/self/fd/${file.fd}`)
    await pipeline(source, createGzip(), createWriteStream(aside, { flags: "wx" }))
    await rename(aside, to)
  } catch (err) {
    await rm(aside, { force: true }) // The disk may be full.
    throw err
  } finally {
    await file.close()
  }
  await rm(from)
}

async function readText(path: string, tailBytes: number | undefined): Promise<string | undefined> {
  const file = await openRegular(path)
  if (file === undefined) return undefined
  try {
    if (tailBytes === undefined) return await file.readText()
    const { size } = await file.stat()
    const length = Math.min(size, tailBytes)
    return (await file.read(length, size - length)).toString("utf8")
  } finally {
    await file.close()
  }
}
