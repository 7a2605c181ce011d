import { RecentTexts } from "../../../../../pkg/cache/recent-texts.ts"
import type { LateText } from "../../payload.ts"
import type { PodFiles } from "../../runtime.ts"
import type { OpenFile } from "../../open-file.ts"

/** A file that was opened. Another file that gets its name is another object. */
interface OpenedFile {
  text: string
}

/** What a name stands for. A file is only its text until it is opened, since there are very many. */
type Entry = Folder | OpenedFile | LateText | string

/**
 * A folder: each name, followed by its entry. It is one list, since there are very many folders and most have two or
 * three entries.
 */
interface Folder extends Array<Entry> {}

const isFolder = (entry: Entry | undefined): entry is Folder => Array.isArray(entry)
const isLate = (entry: OpenedFile | LateText | string): entry is LateText =>
  typeof entry === "object" && "token" in entry
const textOf = (file: OpenedFile | LateText | string): string =>
  typeof file === "string" ? file : isLate(file) ? file.token : file.text
const namesIn = (folder: Folder): readonly string[] => folder.filter((_, i) => i % 2 === 0) as string[]

/** Folders of more entries have an index, from each name to its place. */
const places = new WeakMap<Folder, Map<string, number>>()
/** Two for each entry. */
const LONG = 2 * 64

/** Names of entries are shared, since the folders of most pods have the same names, on all nodes. */
const names = new RecentTexts()

/** The files of one simulated node, as a tree. A map by full path took a fifth of the memory that a pod needs. */
export class MemoryFiles implements PodFiles {
  readonly #root: Folder = []
  readonly #watchers = new Map<string, Set<() => void>>()
  /** The folder in which something was found or entered last, where the next search begins if it leads below. */
  #last: { readonly path: string; readonly folder: Folder } = { path: "", folder: this.#root }

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
    return namesIn(this.#folder(path) ?? [])
  }

  async size(path: string): Promise<number | undefined> {
    const text = this.get(path)
    return text === undefined ? undefined : Buffer.byteLength(text)
  }

  async rename(from: string, to: string): Promise<void> {
    if (!this.#rename(from, to)) throw new Error(`ENOENT: no such file or directory, rename '${from}' -> '${to}'`)
  }

  /** The disk has room without end, so nothing is taken. */
  allocate(): Promise<void> {
    return Promise.resolve()
  }
  /** Files in memory are not compressed. */
  compress(from: string, to: string): Promise<void> {
    return this.rename(from, to)
  }

  async resolve(path: string): Promise<string | undefined> {
    return this.has(path) ? path : undefined
  }

  async open(path: string): Promise<OpenFile | undefined> {
    const file = this.#opened(path)
    if (file === undefined) return undefined
    return {
      read: async (offset, length) => Buffer.from(file.text).subarray(offset, offset + length),
      size: async () => Buffer.byteLength(file.text),
      isCurrent: async () => this.#find(path) === file,
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

  /** A link is a file whose text is its target. */
  async links(folder: string): Promise<ReadonlyMap<string, string>> {
    const entries = (await this.list(folder)).map((name) => [name, this.get(`${folder}/${name}`)] as const)
    return new Map(entries.filter((entry): entry is [string, string] => entry[1] !== undefined))
  }

  async link(folder: string, name: string, target: string): Promise<string | undefined> {
    const path = `${folder}/${name}`
    if (!this.has(path)) this.put(path, target)
    const found = this.get(path) ?? "no link"
    return found === target ? undefined : found
  }

  async unlink(folder: string, name: string, target: string): Promise<void> {
    const path = `${folder}/${name}`
    if (this.get(path) === target) this.#remove(path)
  }

  get(path: string): string | undefined {
    const found = this.#find(path)
    return found === undefined || isFolder(found) ? undefined : textOf(found)
  }

  put(path: string, text: string): void {
    const found = this.#find(path)
    if (found !== undefined && !isFolder(found) && typeof found !== "string" && !isLate(found)) found.text = text
    else this.#enter(path, text)
    this.#changed(path)
  }

  /** Writes a file whose content may be made when it is first read. Returns whether another content was there before. */
  replace(path: string, content: string | LateText): boolean {
    const found = this.#find(path)
    if (found === content) return false
    const isAnother = found === undefined || isFolder(found) || (typeof content !== "string" && isLate(found))
    if (!isAnother && textOf(found) === textOf(content)) return false
    if (typeof content === "string" || !(isAnother || typeof found === "string")) this.put(path, textOf(content))
    else {
      this.#enter(path, content)
      this.#changed(path)
    }
    return true
  }

  append(path: string, text: string): void {
    this.put(path, (this.get(path) ?? "") + text)
  }

  has(path: string): boolean {
    return this.#find(path) !== undefined
  }

  isFolder(path: string): boolean {
    return this.#folder(path) !== undefined
  }

  /** Returns the files below a folder, by their path relative to it. */
  below(folder: string): readonly string[] {
    const filesIn = (folder: Folder): readonly string[] =>
      namesIn(folder).flatMap((name, i) => {
        const entry = folder[2 * i + 1]
        return isFolder(entry) ? filesIn(entry).map((path) => `${name}/${path}`) : [name]
      })
    const found = this.#folder(folder)
    return found === undefined ? [] : filesIn(found)
  }

  #find(path: string): Entry | undefined {
    let folder = this.#root
    let start = this.#startOf(path)
    if (start > 1) ({ folder } = this.#last)
    for (;;) {
      const end = path.indexOf("/", start)
      const at = placeOf(folder, end < 0 ? path.slice(start) : path.slice(start, end))
      if (at < 0) return undefined
      const found = folder[at + 1]!
      if (end < 0) {
        if (folder !== this.#last.folder) this.#last = { path: path.slice(0, Math.max(start - 1, 0)), folder }
        return found
      }
      if (!isFolder(found)) return undefined
      folder = found
      start = end + 1
    }
  }

  /** Returns where the part of a path begins that is looked for in the last folder or, at 0 and 1, in the root. */
  #startOf(path: string): number {
    const { length } = this.#last.path
    if (length > 0 && path[length] === "/" && path.startsWith(this.#last.path)) return length + 1
    return path.startsWith("/") ? 1 : 0
  }

  #opened(path: string): OpenedFile | undefined {
    const found = this.#find(path)
    if (found === undefined || isFolder(found)) return undefined
    if (typeof found !== "string" && !isLate(found)) return found
    const file = { text: textOf(found) }
    this.#enter(path, file)
    return file
  }

  #folder(path: string): Folder | undefined {
    const found = this.#find(path)
    return isFolder(found) ? found : undefined
  }

  #rename(from: string, to: string): boolean {
    const found = this.#find(from)
    if (found === undefined) return false
    if (isFolder(found)) {
      this.#makeFolder(to)
      for (const name of namesIn(found)) this.#rename(`${from}/${name}`, `${to}/${name}`)
      this.#remove(from)
      return true
    }
    this.#remove(from)
    this.#enter(to, found)
    this.#changed(to)
    return true
  }

  /** Returns the folder at a path; creates it and its parents when they do not exist. */
  #makeFolder(path: string): Folder {
    const { path: last } = this.#last
    if (last !== "" && path === last) return this.#last.folder
    let start = this.#startOf(path)
    let folder = start > 1 ? this.#last.folder : this.#root
    let isPlain = true
    while (start < path.length) {
      const slash = path.indexOf("/", start)
      const end = slash < 0 ? path.length : slash
      isPlain &&= end > start && end < path.length - (slash < 0 ? -1 : 1)
      if (end > start) {
        const name = path.slice(start, end)
        const at = placeOf(folder, name)
        const there = folder[at + 1]
        if (at >= 0 && isFolder(there)) folder = there
        else {
          const made: Folder = []
          this.#put(folder, at, name, made)
          folder = made
        }
      }
      start = end + 1
    }
    // A search takes an empty name, as between two slashes, for one that is not there.
    if (isPlain) this.#last = { path, folder }
    return folder
  }

  /** Puts a file into its folder, and replaces one that has its name. */
  #enter(path: string, file: OpenedFile | LateText | string): void {
    const slash = path.lastIndexOf("/")
    const folder = this.#makeFolder(path.slice(0, Math.max(slash, 0)))
    const name = path.slice(slash + 1)
    this.#put(folder, placeOf(folder, name), name, file)
  }

  /** Called when a folder has gone, which may have the last one in it. */
  #forgetLast(): void {
    this.#last = { path: "", folder: this.#root }
  }

  /** Replaces the entry whose name is at index `at` of the folder; appends name and entry when that is -1. */
  #put(folder: Folder, at: number, name: string, entry: Entry): void {
    if (at >= 0) {
      if (isFolder(folder[at + 1])) this.#forgetLast()
      folder[at + 1] = entry
    } else {
      places.get(folder)?.set(name, folder.length)
      folder.push(names.copyOf(name), entry)
    }
  }

  #remove(path: string): void {
    const found = this.#find(path)
    if (found === undefined) return
    const slash = path.lastIndexOf("/")
    const folder = slash <= 0 ? this.#root : this.#folder(path.slice(0, slash))!
    folder.splice(placeOf(folder, path.slice(slash + 1)), 2)
    places.delete(folder)
    if (isFolder(found)) this.#forgetLast()
    this.#gone(found, path)
  }

  /** Calls the watchers of a removed entry, after those of all entries below it. */
  #gone(entry: Entry, path: string): void {
    if (this.#watchers.size === 0) return
    if (isFolder(entry)) namesIn(entry).forEach((name, i) => this.#gone(entry[2 * i + 1]!, `${path}/${name}`))
    this.#changed(path)
  }

  #changed(path: string): void {
    if (this.#watchers.size > 0) for (const changed of this.#watchers.get(path) ?? []) changed()
  }
}

/** Returns the index of a name in its folder, or -1. Searches from the end, since most calls are for the newest pod. */
function placeOf(folder: Folder, name: string): number {
  if (folder.length > LONG) {
    let index = places.get(folder)
    if (index === undefined) {
      index = new Map()
      for (let i = 0; i < folder.length; i += 2) index.set(folder[i] as string, i)
      places.set(folder, index)
    }
    return index.get(name) ?? -1
  }
  for (let i = folder.length - 2; i >= 0; i -= 2) if (folder[i] === name) return i
  return -1
}
