import type { OpenFile, PodFiles } from "../../runtime.ts"

/** A file; another one that takes its name is another value. */
interface MemoryFile {
  text: string
}

/** The files of one simulated node. */
export class MemoryFiles implements PodFiles {
  readonly #files = new Map<string, MemoryFile>()
  /** Names of what is directly in a folder. Lists, since most folders hold two or three and there are very many. */
  readonly #folders = new Map<string, string[]>()
  readonly #watchers = new Map<string, Set<() => void>>()

  async makeFolder(path: string): Promise<void> {
    this.#makeFolder(path)
  }

  async write(path: string, text: string): Promise<void> {
    this.put(path, text)
  }

  async read(path: string, tailBytes?: number): Promise<string | undefined> {
    const text = this.get(path)
    return text === undefined || tailBytes === undefined || text.length <= tailBytes
      ? text
      : Buffer.from(text).subarray(-tailBytes).toString("utf8")
  }

  async list(path: string): Promise<readonly string[]> {
    return [...(this.#folders.get(path) ?? [])]
  }

  async size(path: string): Promise<number | undefined> {
    const text = this.get(path)
    return text === undefined ? undefined : Buffer.byteLength(text)
  }

  async rename(from: string, to: string): Promise<void> {
    if (!this.#rename(from, to)) throw new Error(`ENOENT: no such file or directory, rename '${from}' -> '${to}'`)
  }

  /** There is nothing to gain from compressing what is in memory. */
  compress(from: string, to: string): Promise<void> {
    return this.rename(from, to)
  }

  async resolve(path: string): Promise<string | undefined> {
    return this.has(path) ? path : undefined
  }

  async open(path: string): Promise<OpenFile | undefined> {
    const file = this.#files.get(path)
    if (file === undefined) return undefined
    return {
      read: async (offset, length) => Buffer.from(file.text).subarray(offset, offset + length),
      size: async () => Buffer.byteLength(file.text),
      isCurrent: async () => this.#files.get(path) === file,
      close: async () => {},
    }
  }

  watch(path: string, changed: () => void): () => void {
    let watchers = this.#watchers.get(path)
    if (watchers === undefined) this.#watchers.set(path, (watchers = new Set()))
    const mine = watchers
    mine.add(changed)
    return () => {
      mine.delete(changed)
      if (mine.size === 0 && this.#watchers.get(path) === mine) this.#watchers.delete(path)
    }
  }

  async remove(path: string): Promise<void> {
    this.#remove(path)
  }

  get(path: string): string | undefined {
    return this.#files.get(path)?.text
  }

  put(path: string, text: string): void {
    const file = this.#files.get(path)
    if (file !== undefined) file.text = text
    else {
      this.#enter(path)
      this.#files.set(path, { text })
    }
    this.#changed(path)
  }

  append(path: string, text: string): void {
    this.put(path, (this.get(path) ?? "") + text)
  }

  has(path: string): boolean {
    return this.#files.has(path) || this.#folders.has(path)
  }

  isFolder(path: string): boolean {
    return this.#folders.has(path)
  }

  /** Files below a folder, by their path in it. */
  below(folder: string): readonly string[] {
    return [...(this.#folders.get(folder) ?? [])].flatMap((name) =>
      this.isFolder(`${folder}/${name}`) ? this.below(`${folder}/${name}`).map((path) => `${name}/${path}`) : [name],
    )
  }

  #rename(from: string, to: string): boolean {
    const file = this.#files.get(from)
    const names = this.#folders.get(from)
    if (file !== undefined) {
      this.#remove(from)
      this.#enter(to)
      this.#files.set(to, file)
      this.#changed(to)
      return true
    }
    if (names === undefined) return false
    this.#makeFolder(to)
    for (const name of [...names]) this.#rename(`${from}/${name}`, `${to}/${name}`)
    this.#remove(from)
    return true
  }

  #makeFolder(path: string): void {
    if (this.#folders.has(path) || path === "" || path === "/") return
    this.#enter(path)
    this.#folders.set(path, [])
  }

  /** Puts the name of what is to be there into the folder above. */
  #enter(path: string): void {
    if (this.has(path)) return
    const at = path.lastIndexOf("/")
    const parent = path.slice(0, at)
    if (parent === "") return
    this.#makeFolder(parent)
    this.#folders.get(parent)!.push(path.slice(at + 1))
  }

  #remove(path: string): void {
    if (!this.has(path)) return
    this.#empty(path)
    const at = path.lastIndexOf("/")
    const names = this.#folders.get(path.slice(0, at))
    const index = names?.indexOf(path.slice(at + 1)) ?? -1
    if (index >= 0) names!.splice(index, 1)
  }

  /** Takes away what has this path and all that is below it, but not its name from the folder above. */
  #empty(path: string): void {
    const names = this.#folders.get(path) ?? []
    this.#folders.delete(path)
    this.#files.delete(path)
    for (const name of names) this.#empty(`${path}/${name}`)
    this.#changed(path)
  }

  #changed(path: string): void {
    if (this.#watchers.size > 0) for (const changed of this.#watchers.get(path) ?? []) changed()
  }
}
