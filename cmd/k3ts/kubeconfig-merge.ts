import { lchownSync, mkdirSync, realpathSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { isMap, isSeq, parseDocument, type Document } from "yaml"
import { readIfExists, replaceFile } from "../../pkg/files/files.ts"
import type { Kubeconfig } from "../../pkg/pki/kubeconfig.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"

const LISTS = ["clusters", "users", "contexts"] as const

/**
 * Returns the kubeconfig `text` with the entries of `added`, which replace entries of the same names; the rest stays as
 * it is, comments too. The current context changes only where there is none.
 * @throws Error when `text` is no kubeconfig
 */
export function mergeKubeconfig(text: string, added: Kubeconfig): string {
  const document: Document = parseDocument(text)
  const fault = document.errors[0]
  if (fault !== undefined) throw new Error(`it is not YAML: ${fault.message.split("\n")[0]!.replace(/:$/, "")}`)
  if (document.contents === null) document.contents = document.createNode({ apiVersion: "v1", kind: "Config" })
  if (!isMap(document.contents)) throw new Error("it is not a map, as a kubeconfig is")
  for (const name of LISTS) {
    const list = document.get(name)
    if (list !== undefined && list !== null && !isSeq(list)) throw new Error(`its ${name} are not a list`)
    for (const entry of added[name]) {
      const at = isSeq(list) ? list.items.findIndex((item) => isMap(item) && item.get("name") === entry.name) : -1
      const node = document.createNode(entry)
      if (at >= 0) document.setIn([name, at], node)
      else if (isSeq(document.get(name))) document.addIn([name], node)
      else document.set(name, document.createNode([entry]))
    }
  }
  if (!document.get("current-context")) document.set("current-context", added["current-context"])
  return document.toString({ lineWidth: 0 })
}

/** Returns the file that kubectl would change: the first of $KUBECONFIG, or ~/.kube/config. */
export function usersKubeconfig(env: Readonly<Record<string, string | undefined>>): string {
  const [first] = (env.KUBECONFIG ?? "").split(":").filter((path) => path !== "")
  return first ?? join(env.HOME ?? homedir(), ".kube/config")
}

/**
 * Merges `added` into the file at `path`, which is made when it does not exist. It keeps its mode and owner; a new one
 * is only for the owner of the folder that was there before, so that `sudo k3ts kubeconfig --merge` leaves the user a
 * file that they can read.
 * @throws Error that names the file
 */
export function mergeIntoFile(path: string, added: Kubeconfig): void {
  const before = readIfExists(path)
  let text: string
  try {
    text = mergeKubeconfig(before ?? "", added)
  } catch (err) {
    throw new Error(`Cannot merge into ${path}: ${errorMessage(err)}; mend it, or name another file with KUBECONFIG`, {
      cause: err,
    })
  }
  makeFolder(dirname(path))
  // A link, as from a dotfiles folder, stays a link.
  const file = before === undefined ? path : realpathSync(path)
  const { uid, gid, mode } = statSync(before === undefined ? dirname(path) : file)
  replaceFile(file, text, {
    mode: before === undefined ? 0o600 : mode & 0o777,
    owner: process.getuid?.() === 0 ? { uid, gid } : undefined,
  })
}

/** Makes a folder, and those above it that are missing, for the owner of the folder in which the first one is made. */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (first === undefined || process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(resolve(first)))
  for (let made = resolve(folder); made.length >= resolve(first).length; made = dirname(made))
    lchownSync(made, uid, gid)
}
