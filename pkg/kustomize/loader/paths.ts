import { trimRight } from "../../apimachinery/go/go-text.ts"
/** Paths with slashes. Source: Go's path/filepath. */

/** Returns the shortest equal path: without `.`, `..` and repeated slashes. */
export function cleanPath(path: string): string {
  if (path === "") return "."
  const isAbsolute = path.startsWith("/")
  const parts: string[] = []
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue
    if (part !== "..") parts.push(part)
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop()
    else if (!isAbsolute) parts.push(part)
  }
  return (isAbsolute ? "/" : "") + parts.join("/") || "."
}

/** Joins paths that are not empty. Returns "" when all are. */
export function joinPath(...parts: readonly string[]): string {
  const given = parts.filter((part) => part !== "")
  return given.length === 0 ? "" : cleanPath(given.join("/"))
}

export const isAbsolutePath = (path: string): boolean => path.startsWith("/")

/** Returns the last part of a path. */
export const baseName = (path: string): string => {
  const parts = trimRight(path, "/").split("/")
  return path === "" ? "." : parts.at(-1) || "/"
}

/** Returns the path without its last part. */
export function folderOf(path: string): string {
  const at = path.lastIndexOf("/")
  return at === -1 ? "." : at === 0 ? "/" : path.slice(0, at)
}

/** Returns whether a folder is another one or is inside it. */
export const isInside = (folder: string, other: string): boolean =>
  other === "/" || folder === other || folder.startsWith(`${other}/`)
