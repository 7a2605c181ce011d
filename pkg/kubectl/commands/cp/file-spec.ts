import { remotePath, withoutTrailingSlash } from "./paths.ts"

/** A file of this machine, or of a pod. */
export interface FileSpec {
  /** Empty for a file of this machine. */
  readonly pod: string
  /** Empty where the argument names none. */
  readonly namespace: string
  readonly path: string
}

/** Reads `[[namespace/]pod:]path`. Source: kubectl pkg/cmd/cp/cp.go (extractFileSpec). */
export function parseFileSpec(text: string): FileSpec {
  const at = text.indexOf(":")
  if (at === -1) return { pod: "", namespace: "", path: withoutTrailingSlash(text) }
  const owners = text.slice(0, at).split("/")
  if (at === 0 || owners.length > 2)
    throw new Error("filespec must match the canonical format: [[namespace/]pod:]file/path")
  const [pod = "", namespace = ""] = owners.toReversed()
  return { pod, namespace, path: remotePath(text.slice(at + 1)) }
}
