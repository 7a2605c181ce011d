import { TAR_END, tarHeader, tarPadding } from "../../../oci/tar.ts"
import { goPathError, type Files } from "../../environment/files.ts"
import { expandPattern } from "../../resource/paths.ts"
import { cleanPath, joinPath } from "../../../apimachinery/go/go-path.ts"

const SPECIAL_BITS = 0o7777
const TYPE_BITS = 0o170000
const SOCKET = 0o140000

/** What a tar of a file or folder needs to know. */
interface Context {
  readonly files: Files
  /** The names of users and groups by their numbers. */
  readonly users: ReadonlyMap<number, string>
  readonly groups: ReadonlyMap<number, string>
}

/** Returns the archive of a file or a folder under another name. Folders are in it only where they are empty. */
export async function* tarOf(files: Files, source: string, name: string): AsyncGenerator<Uint8Array, void, undefined> {
  const context = { files, users: await namesIn(files, "/etc/passwd"), groups: await namesIn(files, "/etc/group") }
  yield* entriesOf(context, cleanPath(source), name)
  yield TAR_END
}

async function* entriesOf(context: Context, source: string, name: string): AsyncGenerator<Uint8Array, void, undefined> {
  const { files } = context
  for (const path of await matching(files, source)) {
    const stat = await files.stat(path, { link: true })
    if (stat === undefined) throw new Error(`lstat ${path}: no such file or directory`)
    if ((stat.mode & TYPE_BITS) === SOCKET) throw new Error("archive/tar: sockets not supported")
    const fields = {
      path: name,
      mode: stat.mode & SPECIAL_BITS,
      uid: stat.uid,
      gid: stat.gid,
      user: context.users.get(stat.uid) ?? "",
      group: context.groups.get(stat.gid) ?? "",
    }
    if (stat.isDirectory) {
      const names = await readFolder(files, path)
      if (names.length === 0) yield tarHeader({ ...fields, type: "directory", path: `${name}/`, size: 0, target: "" })
      for (const each of names) yield* entriesOf(context, joinPath(source, each), joinPath(name, each))
      return
    }
    if (stat.isSymbolicLink) {
      yield tarHeader({ ...fields, type: "symlink", size: 0, target: await files.readlink(path) })
      continue
    }
    yield tarHeader({ ...fields, type: "file", size: stat.size, target: "" })
    yield* contentOf(files, path, stat.size)
    return
  }
}

/** A path is a pattern too, as upstream has it. */
async function matching(files: Files, path: string): Promise<readonly string[]> {
  if ((await files.stat(path, { link: true })) !== undefined) return [path]
  try {
    return await expandPattern(files, path)
  } catch {
    return []
  }
}

async function readFolder(files: Files, path: string): Promise<readonly string[]> {
  try {
    return await files.list(path)
  } catch (err) {
    throw goPathError("open", path, err)
  }
}

/** The bytes of a file, filled up to whole blocks. @throws Error when there are not as many as the header says */
async function* contentOf(files: Files, path: string, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  let sent = 0
  try {
    for await (const part of files.stream(path)) {
      sent += part.length
      if (sent > size) throw new Error("archive/tar: write too long")
      yield part
    }
  } catch (err) {
    throw goPathError("open", path, err)
  }
  if (sent < size) throw new Error(`archive/tar: missed writing ${size - sent} bytes`)
  yield tarPadding(size)
}

/** Reads `name:…:number:…` of the lists of users and groups. */
async function namesIn(files: Files, path: string): Promise<ReadonlyMap<number, string>> {
  const names = new Map<number, string>()
  try {
    for (const line of new TextDecoder().decode(await files.read(path)).split("\n")) {
      const [name = "", , id = ""] = line.split(":")
      if (/^\d+$/.test(id) && !names.has(Number(id))) names.set(Number(id), name)
    }
  } catch {
    // Without the list, numbers are enough.
  }
  return names
}
