import { Buffer } from "node:buffer"
import { posix } from "node:path"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Files } from "../../../../pkg/kubectl/environment/files.ts"

interface Entry {
  /** Undefined for a folder. */
  data: Uint8Array | undefined
  target?: string
  mode: number
  modified: number
}

const fault = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code })

/** Files in memory, below `/`. Relative paths are below `cwd`. */
export class MemoryFiles implements Files {
  readonly temporary = "/tmp"
  readonly #clock: Clock
  readonly #cwd: string
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Clock, cwd: string) {
    this.#clock = clock
    this.#cwd = cwd
    for (const path of ["/", "/tmp", cwd]) this.#makeFolder(path)
  }

  /** Puts a file there, with its folders. */
  put(path: string, data: string | Uint8Array): void {
    const at = this.#resolve(path)
    this.#makeFolder(posix.dirname(at))
    this.#entries.set(at, { data: Buffer.from(data as string), mode: 0o644, modified: this.#clock.now() })
  }

  /** Takes over the files below a folder. */
  adopt(folder: string, from: MemoryFiles): void {
    for (const [path, entry] of from.#entries) if (path.startsWith(`${folder}/`)) this.#entries.set(path, entry)
  }

  /** The texts of all files but those below a folder, by their paths; those in the working folder by their names. */
  texts(hidden: string): Readonly<Record<string, string>> {
    const inside = `${this.#cwd}/`
    return Object.fromEntries(
      [...this.#entries].flatMap(([path, { data }]) =>
        data === undefined || path.startsWith(`${hidden}/`)
          ? []
          : [[path.startsWith(inside) ? path.slice(inside.length) : path, Buffer.from(data).toString()]],
      ),
    )
  }

  async read(path: string): Promise<Uint8Array> {
    const { data } = await this.#existing(path)
    if (data === undefined) throw fault("EISDIR", path)
    return data
  }

  async *stream(path: string): AsyncGenerator<Uint8Array, void, undefined> {
    yield await this.read(path)
  }

  write(path: string, data: string | Uint8Array, { mode = 0o666 }: { readonly mode?: number } = {}): Promise<void> {
    const at = this.#resolve(path)
    if (this.#entries.get(posix.dirname(at)) === undefined) return Promise.reject(fault("ENOENT", path))
    const before = this.#entries.get(at)
    if (before !== undefined && before.data === undefined) return Promise.reject(fault("EISDIR", path))
    this.#entries.set(at, {
      data: Buffer.from(data as string),
      mode: before?.mode ?? mode & 0o755,
      modified: this.#clock.now(),
    })
    return Promise.resolve()
  }

  async open(
    path: string,
    { exclusively = false, ...options }: { readonly mode?: number; readonly exclusively?: boolean } = {},
  ): ReturnType<Files["open"]> {
    if (exclusively && this.#entries.has(this.#resolve(path))) throw fault("EEXIST", path)
    await this.write(path, "", options)
    const parts: Uint8Array[] = []
    return {
      write: async (data) => {
        parts.push(Buffer.from(data))
        await this.write(path, Buffer.concat(parts), options)
      },
      close: () => Promise.resolve(),
    }
  }

  stat(path: string, { link = false }: { readonly link?: boolean } = {}): ReturnType<Files["stat"]> {
    let entry = this.#entries.get(this.#resolve(path))
    if (!link && entry?.target !== undefined)
      entry = this.#entries.get(posix.resolve(posix.dirname(this.#resolve(path)), entry.target))
    if (entry === undefined) return Promise.resolve(undefined)
    const { data, mode, modified, target } = entry
    return Promise.resolve({
      isDirectory: data === undefined && target === undefined,
      isFile: data !== undefined,
      isSymbolicLink: target !== undefined,
      size: data?.length ?? 0,
      mode,
      uid: 0,
      gid: 0,
      modified,
    })
  }

  list(path: string): Promise<readonly string[]> {
    const at = this.#resolve(path)
    const entry = this.#entries.get(at)
    if (entry === undefined) return Promise.reject(fault("ENOENT", path))
    if (entry.data !== undefined) return Promise.reject(fault("ENOTDIR", path))
    const names = [...this.#entries.keys()].filter((each) => each !== "/" && posix.dirname(each) === at)
    return Promise.resolve(names.map((each) => posix.basename(each)).sort())
  }

  mkdir(path: string, { recursive = false }: { readonly recursive?: boolean } = {}): Promise<void> {
    const at = this.#resolve(path)
    if (!recursive && this.#entries.has(at)) return Promise.reject(fault("EEXIST", path))
    if (!recursive && !this.#entries.has(posix.dirname(at))) return Promise.reject(fault("ENOENT", path))
    this.#makeFolder(at)
    return Promise.resolve()
  }

  remove(path: string, { recursive = false }: { readonly recursive?: boolean } = {}): Promise<void> {
    const at = this.#resolve(path)
    if (!this.#entries.has(at)) return Promise.reject(fault("ENOENT", path))
    const below = [...this.#entries.keys()].filter((each) => each.startsWith(`${at}/`))
    if (below.length > 0 && !recursive) return Promise.reject(fault("ENOTEMPTY", path))
    for (const each of [at, ...below]) this.#entries.delete(each)
    return Promise.resolve()
  }

  async rename(from: string, to: string): Promise<void> {
    const entry = await this.#existing(from)
    this.#entries.delete(this.#resolve(from))
    this.#entries.set(this.#resolve(to), entry)
  }

  async chmod(path: string, mode: number): Promise<void> {
    ;(await this.#existing(path)).mode = mode
  }

  symlink(target: string, path: string): Promise<void> {
    this.#entries.set(this.#resolve(path), { data: undefined, target, mode: 0o777, modified: this.#clock.now() })
    return Promise.resolve()
  }

  async realPath(path: string): Promise<string> {
    await this.#existing(path)
    return this.#resolve(path)
  }

  async readlink(path: string): Promise<string> {
    const { target } = await this.#existing(path)
    if (target === undefined) throw fault("EINVAL", path)
    return target
  }

  createExclusively(path: string, data: string): Promise<void> {
    return this.#entries.has(this.#resolve(path)) ? Promise.reject(fault("EEXIST", path)) : this.write(path, data)
  }

  #existing(path: string): Promise<Entry> {
    const entry = this.#entries.get(this.#resolve(path))
    return entry === undefined ? Promise.reject(fault("ENOENT", path)) : Promise.resolve(entry)
  }

  #makeFolder(path: string): void {
    const at = this.#resolve(path)
    if (this.#entries.has(at)) return
    if (at !== "/") this.#makeFolder(posix.dirname(at))
    this.#entries.set(at, { data: undefined, mode: 0o755, modified: this.#clock.now() })
  }

  #resolve(path: string): string {
    return posix.resolve(this.#cwd, path)
  }
}
