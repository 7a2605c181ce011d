import type { OpenFile } from "../../open-file.ts"
import type { LateText, PayloadFile } from "../../payload.ts"
import type { FolderUsage, NfsRequest, PayloadRequest, SubPathRequest, VolumeFiles } from "../../volume-files.ts"
import type { MemoryFiles } from "./memory-files.ts"

const textOf = (data: PayloadFile["data"]): string | LateText =>
  data instanceof Uint8Array ? new TextDecoder().decode(data) : data

/**
 * The volumes of one simulated node. Owners and modes are not kept, since only behaviours read the files. A payload is
 * replaced within one turn, so readers see all of it or nothing.
 */
export class MemoryVolumes implements VolumeFiles {
  readonly #files: MemoryFiles

  constructor(files: MemoryFiles) {
    this.#files = files
  }

  async makeShared(): Promise<void> {}

  async memoryFolder(root: string): Promise<string> {
    return `${root}/memory`
  }

  async writePayload({ folder, payload }: PayloadRequest): Promise<boolean> {
    const files = this.#files
    const gone = files.below(folder).filter((path) => !payload.has(path))
    let changed = gone.length > 0
    for (const path of gone) void files.remove(`${folder}/${path}`)
    if (payload.size === 0) void files.makeFolder(folder)
    for (const [path, { data }] of payload) {
      if (files.replace(`${folder}/${path}`, textOf(data))) changed = true
    }
    return changed
  }

  makeEmptyDir(folder: string): Promise<void> {
    return this.#files.makeFolder(folder)
  }

  async setOwnership(): Promise<void> {}

  async groupOf(): Promise<undefined> {
    return undefined
  }

  async checkHostPath(path: string, type: Parameters<VolumeFiles["checkHostPath"]>[1]): Promise<void> {
    const files = this.#files
    if (files.has(path)) {
      const wanted = type.startsWith("Directory") ? "directory" : type.startsWith("File") ? "file" : undefined
      const is = files.isFolder(path) ? "directory" : "file"
      if (wanted !== undefined && wanted !== is)
        throw new Error(`hostPath type check failed: ${path} is not a ${wanted}`)
    } else if (type === "DirectoryOrCreate") await files.makeFolder(path)
    else if (type === "FileOrCreate") files.put(path, "")
    else if (type === "Directory") throw new Error(`hostPath type check failed: ${path} is not a directory`)
    else if (type === "File") throw new Error(`hostPath type check failed: ${path} is not a file`)
    else if (type !== "") throw new Error(`hostPath type check failed: ${path} is not a ${type}`)
  }

  async mapDevice({ path }: { readonly path: string }): Promise<string> {
    return path
  }

  async mountLocal({ path }: { readonly path: string }): Promise<string> {
    if (!this.#files.has(path)) throw new Error(`path ${JSON.stringify(path)} does not exist`)
    if (!this.#files.isFolder(path)) throw new Error(`${path}: only directory and block device are supported`)
    return path
  }

  async growDevice(): Promise<void> {}

  async growLocal(): Promise<void> {}

  async unmapDevices(): Promise<void> {}

  mountNfs({ folder }: NfsRequest): Promise<void> {
    return this.#files.makeFolder(folder)
  }

  async bindSubPath({ volume, subPath }: SubPathRequest): Promise<string> {
    const path = `${volume}/${subPath}`
    if (!this.#files.has(path)) await this.#files.makeFolder(path)
    return path
  }

  openInside(volume: string, path: string): Promise<OpenFile | undefined> {
    return this.#files.open(`${volume}/${path}`)
  }

  async usage(folder: string): Promise<FolderUsage | undefined> {
    const files = this.#files
    if (!files.has(folder)) return undefined
    const paths = files.below(folder)
    const folders = new Set(paths.flatMap((path) => path.split("/").map((_, i, parts) => parts.slice(0, i).join("/"))))
    return {
      bytes: paths.reduce((sum, path) => sum + Buffer.byteLength(files.get(`${folder}/${path}`) ?? ""), 0),
      inodes: paths.length + Math.max(1, folders.size),
    }
  }

  list(folder: string): Promise<readonly string[]> {
    return this.#files.list(folder)
  }

  async discard(folders: readonly string[]): Promise<void> {
    for (const folder of folders) await this.#files.remove(folder)
  }
}
