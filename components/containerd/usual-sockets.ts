import { lstatSync, mkdirSync, readlinkSync, rmdirSync, symlinkSync, unlinkSync } from "node:fs"
import { dirname } from "node:path"
import type { ContainerdPaths } from "./paths.ts"

/** Where charts that ask the container runtime look for it by default: a containerd of the system, and that of k3s. */
export const USUAL_SOCKETS = ["/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock"]

/**
 * Links our containerd's socket where nothing is, so that agents find it without settings. A containerd that starts
 * there later replaces the link by its own socket.
 */
export function linkUsualSockets({ socket }: Pick<ContainerdPaths, "socket">, places = USUAL_SOCKETS): void {
  for (const place of places) {
    if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) continue
    mkdirSync(dirname(place), { recursive: true, mode: 0o711 })
    symlinkSync(socket, place)
  }
}

/** Removes the links of `linkUsualSockets`, and their folders if nothing else is in them. */
export function unlinkUsualSockets({ socket }: Pick<ContainerdPaths, "socket">, places = USUAL_SOCKETS): void {
  for (const place of places) {
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() !== true || readlinkSync(place) !== socket)
      continue
    unlinkSync(place)
    try {
      rmdirSync(dirname(place))
      rmdirSync(dirname(dirname(place)))
    } catch {
      // Others use the folder.
    }
  }
}
