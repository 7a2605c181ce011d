/** Paths with slashes. Source: Go's path/filepath. */

export const isAbsolutePath = (path: string): boolean => path.startsWith("/")

/** Returns whether a folder is another one or is inside it. */
export const isInside = (folder: string, other: string): boolean =>
  other === "/" || folder === other || folder.startsWith(`${other}/`)
