import type { Clock } from "../../pkg/clock/clock.ts"
import type { Component } from "../../pkg/component/component.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"
import type { SnapshotFolder } from "../../pkg/snapshot/folder.ts"
import type { SnapshotIndex } from "../../pkg/snapshot/format.ts"
import { snapshotName } from "../../pkg/snapshot/names.ts"
import { packSnapshot, type SnapshotContents } from "../../pkg/snapshot/pack.ts"
import type { S3Store } from "../../pkg/snapshot/s3-store.ts"
import { serveSnapshots, type SnapshotSocket } from "../../pkg/snapshot/socket.ts"
import { prune, type SnapshotStore } from "../../pkg/snapshot/store.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { snapshotMetrics } from "./metrics.ts"
import { keepSchedule, type Schedule } from "./schedule.ts"

/** How snapshots are taken by themselves. */
export interface ScheduledConfig {
  readonly schedule: Schedule
  readonly folder: SnapshotFolder
  /** The first part of their names. */
  readonly base: string
  /** How many are kept. */
  readonly retention: number
  readonly compression: SnapshotIndex["compression"]
  /** Where each is copied to. */
  readonly s3?: { open(): Promise<S3Store>; readonly retention: number }
}

export interface SnapshotsConfig {
  /** The name of this node or machine, which is part of the names. */
  readonly node: string
  /** The socket for `k3ts snapshot save`. */
  readonly socket: string
  /** Undefined when they are off. */
  readonly scheduled?: ScheduledConfig
  readonly metrics: Registry
  /** Returns what a snapshot of now has in it. */
  readonly contents: () => SnapshotContents
  /** Called with the reason when a scheduled snapshot has failed. */
  readonly failed: (reason: string) => void
}

type Context = { readonly clock: Clock; readonly log: Logger }

/** Takes snapshots on a schedule, and gives them to who asks on the socket. */
export function createSnapshots(context: Context, config: SnapshotsConfig): Component {
  const { clock } = context
  const { node, scheduled } = config
  const log = context.log.child({ component: "snapshots" })
  const metrics = snapshotMetrics(config.metrics)
  let socket: SnapshotSocket | undefined
  let endSchedule = (): void => undefined
  let stopping = new AbortController()
  let saving: Promise<void> | undefined

  async function* pack(compression: SnapshotIndex["compression"]): AsyncGenerator<Uint8Array> {
    const contents = config.contents()
    try {
      for await (const part of packSnapshot(contents, compression)) {
        stopping.signal.throwIfAborted()
        yield part
      }
    } finally {
      contents.end?.()
    }
  }

  async function save(how: ScheduledConfig): Promise<void> {
    const { folder, base, retention, compression } = how
    const from = clock.monotonic()
    const name = snapshotName(base, node, clock.now(), compression === "zstd")
    try {
      const { location, size } = await folder.save(name, pack(compression))
      await pruneIn(folder, base, retention)
      if (how.s3 !== undefined) await copy(name, how, how.s3)
      const seconds = (clock.monotonic() - from) / 1000
      metrics.saved({ at: clock.now(), bytes: size, seconds })
      log.info("Saved a snapshot", { name, location, bytes: size, ms: Math.round(seconds * 1000) })
    } catch (err) {
      if (stopping.signal.aborted) return
      metrics.failed()
      log.error("Failed to save a snapshot", { name, err })
      config.failed(errorMessage(err))
    }
  }

  async function copy(
    name: string,
    { folder, base }: ScheduledConfig,
    s3: NonNullable<ScheduledConfig["s3"]>,
  ): Promise<void> {
    const store = await s3.open()
    const close = () => store.close()
    try {
      // A stopping server does not wait for the storage.
      stopping.signal.addEventListener("abort", close)
      stopping.signal.throwIfAborted()
      const location = await store.upload(name, folder.pathOf(name))
      log.info("Copied a snapshot", { name, location })
      await pruneIn(store, base, s3.retention)
    } finally {
      stopping.signal.removeEventListener("abort", close)
      store.close()
    }
  }

  async function pruneIn(store: SnapshotStore, base: string, keep: number): Promise<void> {
    for (const name of await prune(store, { base, node, keep })) log.info("Removed a snapshot", { name })
  }

  return {
    name: "snapshots",
    async start() {
      stopping = new AbortController()
      socket = await serveSnapshots(config.socket, ({ compression }) => pack(compression), clock)
      if (scheduled === undefined) return
      // A folder that cannot be read, such as one that is not mounted, is told when a snapshot is due.
      const newest = await scheduled.folder.newestOf(scheduled.base, node).catch(() => undefined)
      if (newest !== undefined) metrics.foundNewest(newest)
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
