import { trimRight } from "./go-text.ts"

/** Paths with slashes, as text. Source: Go's path/filepath. */

/** Returns the shortest path that means the same: without `.` and repeated slashes, and `..` only at its start. */
export function cleanPath(path: string): string {
  const isAbsolute = path.startsWith("/")
  const parts: string[] = []
  for (const part of path.split("/"))
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop()
    else if (part !== "" && part !== "." && !(part === ".." && isAbsolute)) parts.push(part)
  return isAbsolute ? `/${parts.join("/")}` : parts.length === 0 ? "." : parts.join("/")
}

/** Joins paths that are not empty. Returns "" when all are. */
export function joinPath(...parts: readonly string[]): string {
  const given = parts.filter((part) => part !== "")
  return given.length === 0 ? "" : cleanPath(given.join("/"))
}

/** Returns the last part of a path. */
export function baseName(path: string): string {
  if (path === "") return "."
  const bare = trimRight(path, "/")
  return bare === "" ? "/" : bare.slice(bare.lastIndexOf("/") + 1)
}

/** Returns the path without its last part. */
export const folderOf = (path: string): string => cleanPath(path.slice(0, path.lastIndexOf("/") + 1))
