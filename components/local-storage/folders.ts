import { constants } from "node:fs"
import { lstat, mkdir } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { withOpenFile } from "../../pkg/files/owned-file.ts"
import { mountPath, mountPoints } from "../../pkg/process/mount-points.ts"
import { run } from "../../pkg/process/run.ts"

/** Nobody may list the volumes of others: names hold the uids of claims, which are not to be guessed. As k3s has it. */
export const FOLDER_MODE = 0o701
const DISK = "disk"
/** Any user of a container may write to its volume, whoever that is. k3s makes its folders so. */
const MODE = 0o777

/**
 * The folders of volumes, all of them directly below `root`. What is asked for elsewhere is refused, and nothing
 * outside is ever touched: neither over links nor over mounts that somebody laid into a volume.
 */
export class Folders {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  /** Makes a folder, or finds it made. Returns its path. @throws Error where something else has this name */
  async create(name: string): Promise<string> {
    const path = this.#pathOf(name)
    await mkdir(this.#root, { recursive: true, mode: FOLDER_MODE })
    await mkdir(path).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== "EEXIST") throw err
    })
    await changeMode(path, MODE)
    return path
  }

  /**
   * Makes a folder with a file of so many bytes for a block device, which takes room on the disk as it is written to.
   * Returns the file's path.
   */
  async createDisk(name: string, bytes: number): Promise<string> {
    const path = join(await this.create(name), DISK)
    await changeMode(dirname(path), 0o700)
    const flags = constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK
    await withOpenFile([path, flags, 0o600], async (file) => {
      if (!(await file.stat()).isFile()) throw new Error(`${path} is no file: remove it`)
      if ((await file.stat()).size < bytes) await file.truncate(bytes)
    })
    return path
  }

  /**
   * Removes a folder and all that is in it; does nothing where it is gone. @throws Error for a path that is none of
   * this root's folders, and where something is mounted below it
   */
  async remove(path: string): Promise<void> {
    if (path !== this.#pathOf(basename(path)))
      throw new Error(`${path} is not below ${this.#root}: it is no volume of k3ts, delete the folder yourself`)
    const found = await lstat(path).catch((err: NodeJS.ErrnoException) => {
      if (err.code === "ENOENT") return undefined
      throw err
    })
    if (found === undefined) return
    if (!found.isDirectory()) throw new Error(`${path} is no folder: something else is in its place`)
    const place = await mountPath(path)
    const mounted = (await mountPoints()).find((point) => point.path === place || point.path.startsWith(`${place}/`))
    if (mounted !== undefined) throw new Error(`${mounted.path} is mounted: unmount it`)
    // It walks by open folders and not by paths, so nobody can lead it elsewhere by exchanging a folder for a link.
    await run("rm", ["--recursive", "--force", "--one-file-system", "--", path])
  }

  #pathOf(name: string): string {
    const path = join(this.#root, name)
    if (name === "" || dirname(path) !== this.#root || basename(path) !== name)
      throw new Error(`${JSON.stringify(name)} cannot be the name of a volume's folder`)
    return path
  }
}

/**
 * Gives a folder its mode, past the process's umask. It is opened first: by its path, chmod would follow a link that
 * somebody put in its place. @throws Error where it is no folder
 */
async function changeMode(path: string, mode: number): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
  try {
    await withOpenFile([path, flags], (folder) => folder.chmod(mode))
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException
    throw code === "ENOTDIR" || code === "ELOOP" ? new Error(`${path} is no folder: remove it`, { cause: err }) : err
  }
}
