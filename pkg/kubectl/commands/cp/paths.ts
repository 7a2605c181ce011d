import { trimRight } from "../../../apimachinery/go/go-text.ts"

/** Paths as text, as Go's packages path and path/filepath take them. */

/** Returns the shortest path that means the same: without `.`, and `..` only at its start. */
export function clean(path: string): string {
  const isAbsolute = path.startsWith("/")
  const parts: string[] = []
  for (const part of path.split("/"))
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop()
    else if (part !== "" && part !== "." && !(part === ".." && isAbsolute)) parts.push(part)
  return isAbsolute ? `/${parts.join("/")}` : parts.length === 0 ? "." : parts.join("/")
}

export const folderOf = (path: string): string => clean(path.slice(0, path.lastIndexOf("/") + 1))

export function baseOf(path: string): string {
  if (path === "") return "."
  const bare = trimRight(path, "/")
  return bare === "" ? "/" : bare.slice(bare.lastIndexOf("/") + 1)
}

export function joined(...parts: readonly string[]): string {
  const filled = parts.filter((part) => part !== "")
  return filled.length === 0 ? "" : clean(filled.join("/"))
}

/** Takes one slash off the end. */
export const withoutTrailingSlash = (path: string): string =>
  path !== "/" && path.endsWith("/") ? path.slice(0, -1) : path

/** A path in a container: Windows' slashes are turned round. */
export const remotePath = (path: string): string => withoutTrailingSlash(path).replaceAll("\\", "/")

/** Takes what leads out of a folder off the start of a path. Source: kubectl pkg/cmd/cp/filespec.go. */
export function withoutShortcuts(path: string): string {
  const rest = path.replace(/^(?:\.\.\/)+/, "")
  return rest === "." || rest === ".." ? "" : rest.replace(/^\//, "")
}

/** Whether a path is a folder itself or in it. Both are looked at as texts: links are not followed. */
export function isWithin(folder: string, path: string): boolean {
  const [base, target] = [clean(folder), clean(path)]
  if (base === target) return true
  if (base.startsWith("/") !== target.startsWith("/")) return false
  const partsOf = (text: string) => text.split("/").filter((part) => part !== "" && part !== ".")
  const [outer, inner] = [partsOf(base), partsOf(target)]
  return outer.every((part, index) => inner[index] === part) && inner[outer.length] !== ".."
}
