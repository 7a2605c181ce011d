import { mkdir, readdir, readlink, realpath, rm, stat, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { run } from "../../../../../pkg/process/run.ts"
import type { DeviceRequest } from "../../../volumes/volume-files.ts"
import { unlessMissing } from "./missing.ts"

/**
 * Block devices for pods. A device is passed on as it is. A file becomes a loop device, which all pods that use the
 * file share until the last of them is gone. The folder of each pod has links to its devices, so that they are known
 * after a restart. Source: pkg/volume/util/volumepathhandler.
 *
 * Calls take turns. Otherwise a device that one pod lets go of could be detached after another pod was given it, which
 * would then read nothing, or the next file that gets the device.
 */
export class BlockDevices {
  #turn: Promise<unknown> = Promise.resolve()

  /** Returns the path of the block device. @throws Error when `path` is neither a block device nor a file */
  map(request: DeviceRequest): Promise<string> {
    return this.#inTurn(() => map(request))
  }

  /** Gives the loop devices of a file the file's size, while pods use them. Source: losetup(8) --set-capacity. */
  grow(path: string): Promise<void> {
    return this.#inTurn(async () => {
      for (const device of await loopDevicesOf(path)) await run("losetup", ["--set-capacity", device])
    })
  }

  /**
   * Releases the devices to which the links below `folder` point. Loop devices that no other pod uses are detached.
   * @param pods the folder of all pods
   */
  unmap(folder: string, pods: string): Promise<void> {
    return this.#inTurn(() => unmap(folder, pods))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined) // told to the caller
    return done
  }
}

async function map({ path, link }: DeviceRequest): Promise<string> {
  const found = await unlessMissing(stat(path))
  if (found === undefined) throw new Error(`block device ${path} does not exist`)
  if (!found.isBlockDevice() && !found.isFile()) throw new Error(`${path} is neither a block device nor a file`)
  await mkdir(dirname(link), { recursive: true, mode: 0o750 })
  // The link is made first, so that a loop device which a crash leaves attached is found by it.
  if ((await unlessMissing(readlink(link))) !== path) {
    await rm(link, { force: true })
    await symlink(path, link)
  }
  if (found.isBlockDevice()) return realpath(path)
  const [device] = await loopDevicesOf(path)
  if (device !== undefined) return device
  return (await run("losetup", ["--find", "--show", "--", path])).trim()
}

async function unmap(folder: string, pods: string): Promise<void> {
  const own = await targetsBelow(folder)
  if (own.length === 0) return
  await rm(folder, { recursive: true, force: true })
  const uids = (await unlessMissing(readdir(pods))) ?? []
  const others = new Set((await Promise.all(uids.map((uid) => targetsBelow(join(pods, uid, DEVICES))))).flat())
  for (const path of own) {
    if (others.has(path)) continue
    // The owner of the volume may have removed the file already.
    for (const device of await loopDevicesOf(path, `${path} (deleted)`)) await run("losetup", ["--detach", device])
  }
}

/** The folder in a pod's folder that has the links. Source: getPodVolumeDevicesDir. */
export const DEVICES = "volumeDevices"

/** Returns the targets of the links in the subfolders of a folder. */
async function targetsBelow(folder: string): Promise<readonly string[]> {
  const kinds = (await unlessMissing(readdir(folder))) ?? []
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const links = (await unlessMissing(readdir(join(folder, kind)))) ?? []
      return Promise.all(links.map((link) => unlessMissing(readlink(join(folder, kind, link)))))
    }),
  )
  return found.flat().filter((path) => path !== undefined)
}

interface LoopDevices {
  readonly loopdevices: readonly { readonly name: string; readonly "back-file": string | null }[]
}

/** Returns the loop devices of files. `losetup` appends ` (deleted)` to the names of files that were removed. */
async function loopDevicesOf(...paths: readonly string[]): Promise<readonly string[]> {
  const listed = await run("losetup", ["--list", "--json", "--output", "NAME,BACK-FILE"])
  // losetup prints nothing when there are no loop devices.
  const { loopdevices } = JSON.parse(listed.trim() || '{ "loopdevices": [] }') as LoopDevices
  return loopdevices.filter((device) => paths.includes(device["back-file"] ?? "")).map(({ name }) => name)
}
