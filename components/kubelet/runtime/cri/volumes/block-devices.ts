import { mkdir, readdir, readlink, realpath, rm, stat, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { run } from "../../../../../pkg/process/run.ts"
import type { DeviceRequest } from "../../../volumes/volume-files.ts"
import { unlessMissing } from "./missing.ts"

/**
 * Block devices for pods. A device is passed on as it is; a file becomes a loop device, one for all pods that have it,
 * until the last of them has gone. Each pod's folder keeps a link to what it has, so that this is known after a restart
 * too. Source: pkg/volume/util/volumepathhandler.
 */

/** Returns the path of the block device. @throws Error for what is neither a block device nor a file */
export async function mapDevice({ path, link }: DeviceRequest): Promise<string> {
  const found = await unlessMissing(stat(path))
  if (found === undefined) throw new Error(`block device ${path} does not exist`)
  if (!found.isBlockDevice() && !found.isFile()) throw new Error(`${path} is neither a block device nor a file`)
  await mkdir(dirname(link), { recursive: true, mode: 0o750 })
  // Noted first: what a crash leaves attached is then found by it.
  if ((await unlessMissing(readlink(link))) !== path) {
    await rm(link, { force: true })
    await symlink(path, link)
  }
  if (found.isBlockDevice()) return realpath(path)
  const [device] = await loopDevicesOf(path)
  if (device !== undefined) return device
  return (await run("losetup", ["--find", "--show", "--", path])).trim()
}

/**
 * Lets go of the devices that the links below `folder` lead to, and of the loop devices among them that no link below
 * another pod's folder leads to.
 *
 * @param pods the folder of all pods
 */
export async function unmapDevices(folder: string, pods: string): Promise<void> {
  const own = await targetsBelow(folder)
  if (own.length === 0) return
  await rm(folder, { recursive: true, force: true })
  const uids = (await unlessMissing(readdir(pods))) ?? []
  const others = new Set((await Promise.all(uids.map((uid) => targetsBelow(join(pods, uid, DEVICES))))).flat())
  for (const path of own) {
    if (others.has(path)) continue
    // Whoever made the volume may have removed its file already.
    for (const device of await loopDevicesOf(path, `${path} (deleted)`)) await run("losetup", ["--detach", device])
  }
}

/** The folder of a pod with its links. Source: getPodVolumeDevicesDir. */
export const DEVICES = "volumeDevices"

/** What the links in the folders of a folder lead to. */
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

/** The loop devices of files, which `losetup` writes with ` (deleted)` when they have been removed. */
async function loopDevicesOf(...paths: readonly string[]): Promise<readonly string[]> {
  const listed = await run("losetup", ["--list", "--json", "--output", "NAME,BACK-FILE"])
  // It says nothing where there are none.
  const { loopdevices } = JSON.parse(listed.trim() || '{ "loopdevices": [] }') as LoopDevices
  return loopdevices.filter((device) => paths.includes(device["back-file"] ?? "")).map(({ name }) => name)
}
