/**
 * Shows a part of a volume to one container. The pod may change the volume at the same time, so no path is resolved
 * twice: each folder is opened without following links, the next name is looked up in the open folder, and the opened
 * file itself is mounted, not its path. Source: pkg volume/util/subpath/subpath_linux.go (k8s.io/mount-utils),
 * CVE-2017-1002101, CVE-2021-25741.
 */
import { constants } from "node:fs"
import { lstat, mkdir, realpath, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import { OwnedFile } from "../../../../../pkg/files/owned-file.ts"
import type { SubPathRequest } from "../../volume-files.ts"
import { O_PATH, reopened } from "../files/regular-file.ts"
import { isMissing, unlessMissing } from "./missing.ts"
import { bindMount, unmountBelow } from "./mounts.ts"
import { chmodOpen } from "./walk.ts"

/** Bind-mounts `subPath` of the volume at `target`, and returns `target`. A mount that is right already is kept. */
export async function bindSubPath({ volume, subPath, target }: SubPathRequest): Promise<string> {
  const root = await realpath(volume)
  const handle = await openInside(root, await resolved(root, subPath), (await stat(root)).mode & 0o7777)
  try {
    const wanted = await handle.stat()
    const there = await unlessMissing(lstat(target))
    if (there !== undefined) {
      // Left by an earlier run of the container; the volume may have changed since then.
      if (there.dev === wanted.dev && there.ino === wanted.ino) return target
      await unmountBelow([target])
      await rm(target, { recursive: true })
    }
    if (wanted.isDirectory()) await mkdir(target, { recursive: true, mode: 0o750 })
    else {
      await mkdir(dirname(target), { recursive: true, mode: 0o750 })
      await writeFile(target, "", { mode: 0o640 })
    }
    await bindMount(`/proc/${process.pid}/fd/${handle.fd}`, target)
    return target
  } finally {
    await handle.close()
  }
}

/**
 * Opens a file in the volume for reading; returns undefined when it does not exist. @throws Error when it is not a
 * regular file, or is outside of the volume
 */
export async function openFileInside(volume: string, path: string): Promise<OwnedFile | undefined> {
  const root = await realpath(volume)
  try {
    const place = await openInside(root, await resolved(root, path), undefined)
    try {
      const file = await reopened(place)
      if (file === undefined) throw new Error(`${path} is not a file`)
      return file
    } finally {
      await place.close()
    }
  } catch (err) {
    if (isMissing(err)) return undefined
    throw err
  }
}

/**
 * Resolves all links in `path`, and returns the names from the volume to the result; parts that do not exist are taken
 * literally.
 */
async function resolved(root: string, path: string): Promise<readonly string[]> {
  const missing: string[] = []
  let existing = join(root, path)
  for (;;) {
    const real = await unlessMissing(realpath(existing))
    if (real !== undefined) {
      if (real !== root && !real.startsWith(root === "/" ? "/" : `${root}/`))
        throw new Error(`subpath ${JSON.stringify(path)} not within volume path`)
      return [
        ...relative(root, real)
          .split("/")
          .filter((name) => name !== ""),
        ...missing,
      ]
    }
    // mkdir would create the target of a dangling link, which may be outside of the volume.
    if ((await unlessMissing(lstat(existing)))?.isSymbolicLink() === true)
      throw new Error(`subpath ${JSON.stringify(path)} is a dangling link`)
    missing.unshift(existing.slice(existing.lastIndexOf("/") + 1))
    existing = dirname(existing)
  }
}

/** Opens the file at `names` below the volume, one folder after the other; with a mode, missing folders are created. */
async function openInside(root: string, names: readonly string[], mode: number | undefined): Promise<OwnedFile> {
  let handle = await OwnedFile.open(root, O_PATH | constants.O_NOFOLLOW)
  for (const name of names) {
    const parent = handle
    const path = `/proc/self/fd/${parent.fd}/${name}`
    try {
      let next = await openPlace(path)
      if (next === undefined) {
        if (mode === undefined) throw Object.assign(new Error(`${names.join("/")} does not exist`), { code: "ENOENT" })
        await mkdir(path)
        next = await OwnedFile.open(path, O_PATH | constants.O_NOFOLLOW)
        await refuseLink(next, name)
        // The umask limits the mode that mkdir sets. At its path there may be a link by now, which chmod would follow.
        await chmodOpen(next, mode).catch(async (err: unknown) => {
          await next!.close()
          throw err
        })
      } else await refuseLink(next, name)
      handle = next
    } finally {
      await parent.close()
    }
  }
  return handle
}

/** Closes what is open, and throws, when it is a link. */
async function refuseLink(handle: OwnedFile, name: string): Promise<void> {
  try {
    if ((await handle.stat()).isSymbolicLink()) throw new Error(`${name} was replaced by a link during the mount`)
  } catch (err) {
    await handle.close()
    throw err
  }
}

const openPlace = (path: string): Promise<OwnedFile | undefined> =>
  unlessMissing(OwnedFile.open(path, O_PATH | constants.O_NOFOLLOW))
