import { mkdir, readdir, readlink, realpath, rm, rmdir, stat, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { run } from "../../../../../pkg/process/run.ts"
import type { DeviceRequest, LocalVolumeRequest } from "../../volume-files.ts"
import { growFileSystem, mountDevice } from "./device-file-system.ts"
import { unlessMissing } from "./missing.ts"
import { isMounted, unmountBelow } from "./mounts.ts"

/**
 * Block devices for pods. A device is passed on as it is, or its file system is mounted, once for all pods. A file
 * becomes a loop device. Both last until the last pod that uses them is gone. The folder of each pod has links to what
 * it uses, so that this is known after a restart. Source: pkg/volume/util/volumepathhandler, pkg/volume/local.
 *
 * Calls about one path take turns. Otherwise a device that one pod lets go of could be detached after another pod was
 * given it, which would then read nothing, or the next file that gets the device.
 */
export class BlockDevices {
  /** The last call about each path, until it ends. */
  readonly #turns = new Map<string, Promise<unknown>>()

  /** Returns the path of the block device. @throws Error when `path` is neither a block device nor a file */
  async map({ path, link }: DeviceRequest): Promise<string> {
    const real = await withoutLinks(path)
    return this.#inTurn(real, () => map({ path: real, link }))
  }

  /** Returns the folder of a local volume, at which the file system of a block device is mounted. */
  async mountLocal(request: LocalVolumeRequest): Promise<string> {
    const { path, folder } = request
    const found = await unlessMissing(stat(path))
    if (found === undefined) throw new Error(`path ${JSON.stringify(path)} does not exist`)
    if (found.isDirectory()) return path
    if (!found.isBlockDevice()) throw new Error(`${path}: only directory and block device are supported`)
    return this.#inTurn(folder, () => mountFileSystem(request))
  }

  /** Gives the loop devices of a file the file's size, while pods use them. Source: losetup(8) --set-capacity. */
  async grow(path: string): Promise<void> {
    const real = await withoutLinks(path)
    return this.#inTurn(real, async () => {
      for (const device of await loopDevicesOf(real)) await run("losetup", ["--set-capacity", device])
    })
  }

  /** Gives the file system of a block device the size of the device; does nothing for a folder. */
  async growLocal({ path, folder }: Pick<LocalVolumeRequest, "path" | "folder">): Promise<void> {
    if (!(await stat(path)).isBlockDevice()) return
    await this.#inTurn(folder, async () => growFileSystem(await realpath(path), folder))
  }

  /**
   * Releases what the links below `folder` point to. Loop devices and mounts that no other pod uses end.
   * @param pods the folder of all pods
   */
  async unmap(folder: string, pods: string): Promise<void> {
    const own = await linksBelow(folder)
    for (const { link, target } of own) await this.#inTurn(target, () => release({ link, target, folder, pods }))
    if (own.length > 0) await rm(folder, { recursive: true, force: true })
  }

  #inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(path) ?? Promise.resolve()).then(work)
    const turn = done.then(nothing, nothing) // An error is told to the caller.
    this.#turns.set(path, turn)
    void turn.then(() => {
      if (this.#turns.get(path) === turn) this.#turns.delete(path)
    })
    return done
  }
}

const nothing = (): void => {}

/** The kernel knows the files of loop devices by their paths without links. */
const withoutLinks = async (path: string): Promise<string> => (await unlessMissing(realpath(path))) ?? path

async function map({ path, link }: DeviceRequest): Promise<string> {
  const found = await unlessMissing(stat(path))
  if (found === undefined) throw new Error(`block device ${path} does not exist`)
  if (!found.isBlockDevice() && !found.isFile()) throw new Error(`${path} is neither a block device nor a file`)
  await noteUse(link, path)
  if (found.isBlockDevice()) return path
  const [device] = await loopDevicesOf(path)
  if (device !== undefined) return device
  return (await run("losetup", ["--find", "--show", "--", path])).trim()
}

async function mountFileSystem(request: LocalVolumeRequest): Promise<string> {
  const { path, folder, link } = request
  await noteUse(link, folder)
  if (await isMounted(folder)) return folder
  await mkdir(folder, { recursive: true, mode: 0o750 })
  await mountDevice({ ...request, device: await realpath(path) })
  return folder
}

/** Makes the link of a pod to what it uses: before that, so that a device which a crash leaves attached is found. */
async function noteUse(link: string, target: string): Promise<void> {
  if ((await unlessMissing(readlink(link))) === target) return
  await mkdir(dirname(link), { recursive: true, mode: 0o750 })
  await rm(link, { force: true })
  await symlink(target, link)
}

/** Ends what a link points to unless another pod uses it, and then removes the link. */
async function release({ link, target, folder, pods }: Link & { readonly folder: string; readonly pods: string }) {
  const uids = (await unlessMissing(readdir(pods))) ?? []
  const folders = uids.map((uid) => join(pods, uid, DEVICES)).filter((other) => other !== folder)
  const others = (await Promise.all(folders.map(linksBelow))).flat()
  if (others.every((other) => other.target !== target)) {
    // A folder that is not the kubelet's own is none of ours: somebody has put it in the place of a file.
    const isOwn = target.startsWith(`${dirname(pods)}/`)
    if (isOwn && (await unlessMissing(stat(target)))?.isDirectory() === true) {
      await unmountBelow([target])
      await unlessMissing(rmdir(target))
    } else {
      // The owner of the volume may have removed the file already.
      for (const device of await loopDevicesOf(target, `${target} (deleted)`))
        await run("losetup", ["--detach", device])
    }
  }
  await rm(link, { force: true })
}

/** The folder in a pod's folder that has the links. Source: getPodVolumeDevicesDir. */
export const DEVICES = "volumeDevices"

interface Link {
  readonly link: string
  /** The path of a device or a file, or the folder at which a file system is mounted. */
  readonly target: string
}

/** Returns the links in the subfolders of a folder. */
async function linksBelow(folder: string): Promise<readonly Link[]> {
  const kinds = (await unlessMissing(readdir(folder))) ?? []
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const names = (await unlessMissing(readdir(join(folder, kind)))) ?? []
      return Promise.all(
        names.map(async (name) => {
          const link = join(folder, kind, name)
          return { link, target: await unlessMissing(readlink(link)) }
        }),
      )
    }),
  )
  return found.flat().filter((each): each is Link => each.target !== undefined)
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
