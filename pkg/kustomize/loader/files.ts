import { cleanPath, folderOf, joinPath } from "../../apimachinery/go/go-path.ts"
import { isAbsolutePath } from "./paths.ts"

/** Where a build reads its files: the machine's disk, or what a test gives. Paths are absolute. */
export interface KustomizeFiles {
  /** The absolute path that relative paths begin at. */
  readonly workingFolder: string
  /** Returns what is at a path, behind all symbolic links; undefined when nothing is there. */
  kindOf(path: string): Promise<"file" | "folder" | undefined>
  /** Returns the path of a file or folder that is there without symbolic links. */
  realPath(path: string): Promise<string>
  /** Returns the bytes of a file. @throws Error whose message is the system's: `permission denied` */
  read(path: string): Promise<Uint8Array>
}

/** A file or folder that is there. `file` is empty for a folder. */
export interface Place {
  readonly folder: string
  readonly file: string
}

/** Returns the folder and the file at a path, without symbolic links. Source: kyaml filesys/fsondisk.go CleanedAbs. */
export async function placeOf(files: KustomizeFiles, path: string): Promise<Place> {
  const absolute = isAbsolutePath(path) ? cleanPath(path) : joinPath(files.workingFolder, path)
  const kind = await files.kindOf(absolute)
  if (kind === undefined) throw new Error(`evalsymlink failure on '${path}' : ${await missingReason(files, absolute)}`)
  const real = await files.realPath(absolute)
  if (kind === "folder") return { folder: real, file: "" }
  const folder = folderOf(real)
  return { folder, file: real.slice(folder === "/" ? 1 : folder.length + 1) }
}

/** Returns Go's words for a path that leads to nothing: they name the first part that is missing. */
async function missingReason(files: KustomizeFiles, path: string): Promise<string> {
  const parts = path.split("/").slice(1)
  let at = ""
  for (const [i, part] of parts.entries()) {
    const next = `${at}/${part}`
    const kind = await files.kindOf(next)
    if (kind === undefined) return `lstat ${next}: no such file or directory`
    if (kind === "file" && i < parts.length - 1) return "not a directory"
    at = next
  }
  return `lstat ${path}: no such file or directory`
}

/** Returns a folder without symbolic links. @throws Error when it is none */
export async function confirmFolder(files: KustomizeFiles, path: string): Promise<string> {
  if (path === "") throw new Error("directory path cannot be empty")
  let place: Place
  try {
    place = await placeOf(files, path)
  } catch (err) {
    throw new Error(`not a valid directory: ${(err as Error).message}`, { cause: err })
  }
  if (place.file !== "") throw new Error(`'${path}': file is not directory`)
  return place.folder
}
