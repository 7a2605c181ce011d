import { mkdir, readdir, readlink, realpath, rm, rmdir, stat, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { DeviceRequest, LocalVolumeRequest } from "../../volume-files.ts"
import { growFileSystem, mountDevice } from "./device-file-system.ts"
import { attachLoop, detachLoop, fileBehind, growLoops } from "./loop-devices.ts"
import { unlessMissing } from "./missing.ts"
import { isMounted, unmountBelow } from "./mounts.ts"

/**
 * Block devices for pods. A device is passed on as it is, or its file system is mounted, once for all pods. A file
 * becomes a loop device. Both last until the last pod that uses them is gone. The folder of each pod has links to what
 * it uses, so that this is known after a restart. Source: pkg/volume/util/volumepathhandler, pkg/volume/local.
 *
 * One device may be passed on and mounted at once, through two volumes, and the end of either leaves the other as it
 * is. Differs from upstream: a device that a pod uses as it is gets no file system, since it may well have data of
 * which blkid(8) knows nothing.
 *
 * Calls about one path take turns. Otherwise a device that one pod lets go of could be detached after another pod was
 * given it, which would then read nothing, or the next file that gets the device. And of two volumes of one device
 * each would make a file system, the second over the one that is mounted by then.
 */
export class BlockDevices {
  /** The last call about each path, until it ends. */
  readonly #turns = new Map<string, Promise<unknown>>()

  /** Returns the path of the block device. @throws Error when `path` is neither a block device nor a file */
  async map(request: DeviceRequest): Promise<string> {
    const real = await withoutLinks(request.path)
    return this.#inTurn(real, () => map({ ...request, path: real }))
  }

  /** Returns the folder of a local volume, at which the file system of a block device is mounted. */
  async mountLocal(request: LocalVolumeRequest): Promise<string> {
    const { path, folder } = request
    const found = await unlessMissing(stat(path))
    if (found === undefined) throw new Error(`path ${JSON.stringify(path)} does not exist`)
    if (found.isDirectory()) return path
    if (!found.isBlockDevice()) throw new Error(`${path}: only directory and block device are supported`)
    const device = await realpath(path)
    return this.#inTurn(folder, () => this.#inTurn(device, () => mountFileSystem(request, device)))
  }

  /** Gives the loop devices of a file the file's size, while pods use them. Source: losetup(8) --set-capacity. */
  async grow(path: string): Promise<void> {
    const real = await withoutLinks(path)
    return this.#inTurn(real, () => growLoops(real))
  }

  /** Gives the file system of a block device the size of the device; does nothing for a folder. */
  async growLocal({ path, folder }: Pick<LocalVolumeRequest, "path" | "folder">): Promise<void> {
    if (!(await stat(path)).isBlockDevice()) return
    const device = await realpath(path)
    await this.#inTurn(folder, () => this.#inTurn(device, () => growFileSystem(device, folder)))
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

async function map({ path, link, pods }: DeviceRequest): Promise<string> {
  const found = await unlessMissing(stat(path))
  if (found === undefined) throw new Error(`block device ${path} does not exist`)
  if (!found.isBlockDevice() && !found.isFile()) throw new Error(`${path} is neither a block device nor a file`)
  await noteUse(link, path)
  return found.isBlockDevice() ? path : attachLoop(dirname(pods), path)
}

async function mountFileSystem(request: LocalVolumeRequest, device: string): Promise<string> {
  const { folder, link, pods } = request
  await noteUse(link, folder)
  if (await isMounted(folder)) return folder
  await mkdir(folder, { recursive: true, mode: 0o750 })
  await mountDevice({ ...request, device, mayFormat: !(await isPassedOn(device, pods)) })
  return folder
}

/** Whether a pod uses the device, or the file behind it, as it is. */
async function isPassedOn(device: string, pods: string): Promise<boolean> {
  const targets = (await linksOf(pods)).map(({ target }) => target)
  return targets.includes(device) || targets.includes((await fileBehind(device)) ?? "")
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
  const others = (await linksOf(pods)).filter((other) => !other.link.startsWith(`${folder}/`))
  if (others.every((other) => other.target !== target)) {
    // A folder that is not the kubelet's own is none of ours: somebody has put it in the place of a file.
    const isOwn = target.startsWith(`${dirname(pods)}/`)
    if (isOwn && (await unlessMissing(stat(target)))?.isDirectory() === true) {
      await unmountBelow([target])
      await unlessMissing(rmdir(target))
    } else {
      await detachLoop(dirname(pods), target)
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

/** Returns the links of all pods. */
async function linksOf(pods: string): Promise<readonly Link[]> {
  const uids = (await unlessMissing(readdir(pods))) ?? []
  return (await Promise.all(uids.map((uid) => linksBelow(join(pods, uid, DEVICES))))).flat()
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
