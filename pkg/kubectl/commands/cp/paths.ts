import { cleanPath } from "../../../apimachinery/go/go-path.ts"

/** Paths on both sides of a copy, as text. */

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
  const [base, target] = [cleanPath(folder), cleanPath(path)]
  if (base === target) return true
  if (base.startsWith("/") !== target.startsWith("/")) return false
  const partsOf = (text: string) => text.split("/").filter((part) => part !== "" && part !== ".")
  const [outer, inner] = [partsOf(base), partsOf(target)]
  return outer.every((part, index) => inner[index] === part) && inner[outer.length] !== ".."
}
