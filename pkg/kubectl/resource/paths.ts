import { extname, join } from "node:path"
import type { Files } from "../environment/files.ts"
import { pushAll } from "../../lists/push-all.ts"

/** The endings of files that are read in a folder. */
export const FILE_EXTENSIONS = [".json", ".yaml", ".yml"]

/** The files at a path: itself, or those of the folder with a known ending, in the order of their names. */
export async function filesAt(files: Files, path: string, recursive: boolean): Promise<readonly string[]> {
  const stat = await files.stat(path)
  if (stat?.isDirectory !== true) return [path]
  return filesIn(files, path, recursive)
}

async function filesIn(files: Files, folder: string, recursive: boolean): Promise<readonly string[]> {
  const found: string[] = []
  for (const name of await files.list(folder)) {
    const path = join(folder, name)
    const stat = await files.stat(path, { link: true })
    if (stat?.isDirectory === true) {
      if (recursive) pushAll(found, await filesIn(files, path, true))
    } else if (FILE_EXTENSIONS.includes(extname(name))) found.push(path)
  }
  return found
}

/**
 * The paths that a pattern of a shell matches; a path that is there is itself.
 * @throws Error when there are none
 */
export async function expandPattern(files: Files, pattern: string): Promise<readonly string[]> {
  if ((await files.stat(pattern)) !== undefined) return [pattern]
  if (/\[[^\]]*$|\\$/.test(pattern))
    throw new Error(`pattern ${JSON.stringify(pattern)} is not valid: syntax error in pattern`)
  const found = /[*?[\\]/.test(pattern) ? await glob(files, pattern) : []
  if (found.length === 0) throw new Error(`the path ${JSON.stringify(pattern)} does not exist`)
  return found
}

async function glob(files: Files, pattern: string): Promise<readonly string[]> {
  const isAbsolute = pattern.startsWith("/")
  let paths = [isAbsolute ? "/" : ""]
  for (const segment of pattern.split("/").filter((each) => each !== "")) {
    const next: string[] = []
    for (const path of paths) {
      if (!/[*?[\\]/.test(segment)) {
        const joined = path === "" ? segment : join(path, segment)
        if ((await files.stat(joined)) !== undefined) next.push(joined)
        continue
      }
      const matches = patternOf(segment)
      const folder = path === "" ? "." : path
      if ((await files.stat(folder))?.isDirectory !== true) continue
      for (const name of await files.list(folder))
        if (matches.test(name)) next.push(path === "" ? name : join(path, name))
    }
    paths = next
  }
  return paths.sort()
}

/** Source: Go path/filepath.Match. */
function patternOf(segment: string): RegExp {
  const parts = segment.replaceAll(
    /\\(.)|\[(\^?)(\[?(?:\\.|[^\]\\[])+|\[)\]|[*?]|[.+^${}()|]/g,
    (match, escaped: string | undefined, not: string | undefined, set: string | undefined) => {
      if (escaped !== undefined) return escaped.replace(/[.*+?^${}()|[\]\\]/, "\\$&")
      if (set !== undefined) return `[${not}${set}]`
      return match === "*" ? ".*" : match === "?" ? "." : `\\${match}`
    },
  )
  return new RegExp(`^${parts}$`, "su")
}
