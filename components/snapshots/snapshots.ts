import type { Clock } from "../../pkg/clock/clock.ts"
import type { Component } from "../../pkg/component/component.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { SnapshotFolder } from "../../pkg/snapshot/folder.ts"
import type { SnapshotIndex } from "../../pkg/snapshot/format.ts"
import { snapshotName } from "../../pkg/snapshot/names.ts"
import { packSnapshot, type SnapshotContents } from "../../pkg/snapshot/pack.ts"
import { serveSnapshots, type SnapshotSocket } from "../../pkg/snapshot/socket.ts"
import { prune } from "../../pkg/snapshot/store.ts"
import { keepSchedule, type Schedule } from "./schedule.ts"

/** How snapshots are taken by themselves. */
export interface ScheduledConfig {
  readonly schedule: Schedule
  readonly folder: string
  /** The first part of their names. */
  readonly base: string
  /** How many are kept. */
  readonly retention: number
  readonly compression: SnapshotIndex["compression"]
}

export interface SnapshotsConfig {
  /** The name of this node or machine, which is part of the names. */
  readonly node: string
  /** The socket for `k3ts snapshot save`. */
  readonly socket: string
  /** Undefined when they are off. */
  readonly scheduled?: ScheduledConfig
  /** Returns what a snapshot of now has in it. */
  readonly contents: () => SnapshotContents
}

type Context = { readonly clock: Clock; readonly log: Logger }

/** Takes snapshots on a schedule, and gives them to who asks on the socket. */
export function createSnapshots(context: Context, config: SnapshotsConfig): Component {
  const { clock } = context
  const { node, scheduled } = config
  const log = context.log.child({ component: "snapshots" })
  let socket: SnapshotSocket | undefined
  let endSchedule = (): void => undefined
  let stopping = new AbortController()
  let saving: Promise<void> | undefined

  async function* pack(compression: SnapshotIndex["compression"]): AsyncGenerator<Uint8Array> {
    for await (const part of packSnapshot(config.contents(), compression)) {
      stopping.signal.throwIfAborted()
      yield part
    }
  }

  async function save({ folder, base, retention, compression }: ScheduledConfig): Promise<void> {
    const from = clock.monotonic()
    const name = snapshotName(base, node, clock.now(), compression === "zstd")
    try {
      const store = new SnapshotFolder(folder)
      const { location, size } = await store.save(name, pack(compression))
      log.info("Saved a snapshot", { name, location, bytes: size, ms: Math.round(clock.monotonic() - from) })
      for (const old of await prune(store, { base, node, keep: retention }))
        log.info("Removed a snapshot", { name: old })
    } catch (err) {
      if (!stopping.signal.aborted) log.error("Failed to save a snapshot", { name, err })
    }
  }

  return {
    name: "snapshots",
    async start() {
      stopping = new AbortController()
      socket = await serveSnapshots(config.socket, ({ compression }) => pack(compression), clock)
      if (scheduled !== undefined)
        endSchedule = keepSchedule(clock, scheduled.schedule, () => (saving = save(scheduled)))
    },
    async stop() {
      endSchedule()
      stopping.abort(new Error("the server is stopping"))
      await socket?.close()
      await saving
    },
  }
}
