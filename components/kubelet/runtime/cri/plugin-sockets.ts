import { readdir, stat } from "node:fs/promises"
import { basename, join } from "node:path"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { openChannel } from "../../../../pkg/cri/channel.ts"
import { watchFolder } from "../../../../pkg/process/watch-folder.ts"
import type { PluginSocket, PluginSockets } from "../runtime.ts"
import { serveSocket } from "./serve-socket.ts"
import { socketAnswers } from "./socket-answers.ts"
import { unlessMissing } from "./volumes/missing.ts"

/** The delays between attempts to connect, in milliseconds, as in gRPC: a plugin may be stopped for days. */
const RECONNECT_MS = { first: 1000, longest: 120_000 }

/** Finds the plugin sockets of this host. Source: pkg/kubelet/pluginmanager/pluginwatcher/plugin_watcher.go. */
export const hostPluginSockets = (clock: Clock): PluginSockets => ({
  async list(folder) {
    const names = (await unlessMissing(readdir(folder, { recursive: true }))) ?? []
    const found = await Promise.all(
      names.filter((name) => !basename(name).startsWith(".")).map((name) => socketAt(join(folder, name))),
    )
    return found.filter((socket) => socket !== undefined)
  },
  watch: (folder, changed) => watchFolder(folder, () => changed(), { clock, recursive: true, mode: 0o755 }),
  connect: (path) => openChannel(path, clock, { reconnectMs: RECONNECT_MS }),
  answers: socketAnswers,
  serve: serveSocket,
})

async function socketAt(path: string): Promise<PluginSocket | undefined> {
  const found = await unlessMissing(stat(path, { bigint: true }))
  if (found?.isSocket() !== true) return undefined
  // An inode number may be used again at once, but the modification time of a socket is the time of its creation.
  return { path, made: `${found.ino}:${found.mtimeNs}` }
}
