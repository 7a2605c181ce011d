import { existsSync } from "node:fs"
import { join } from "node:path"
import { CLUSTER_KEY, uidIn } from "../../../components/apiserver/cluster-image.ts"
import { databaseFile } from "../../../components/apiserver/store/database-file.ts"
import { snapshotSocket } from "../../../components/cluster/snapshots.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { SnapshotIndex } from "../../../pkg/snapshot/format.ts"
import { packSnapshot } from "../../../pkg/snapshot/pack.ts"
import { readServerFiles } from "../../../pkg/snapshot/server-files.ts"
import { askForSnapshot } from "../../../pkg/snapshot/socket.ts"
import { readStore } from "../../../pkg/storage/sqlite/read.ts"
import { version } from "../../../pkg/version/version.ts"
import { hasEtcdData } from "../etcd/flags.ts"
import { findServer, lockDataDir } from "../process/pid-file.ts"

/**
 * Yields a snapshot of the cluster in a data directory: of its running server, or else of its files.
 * @throws Error when there is none, or this user may not read it
 */
export async function* takeSnapshot(
  dataDir: string,
  node: string,
  compression: SnapshotIndex["compression"],
): AsyncGenerator<Uint8Array> {
  const running = findServer(dataDir)
  if (running === undefined) yield* ofStoppedServer(dataDir, node, compression)
  else {
    const socket = snapshotSocket(dataDir)
    if (!existsSync(socket))
      throw new Error(`the server on ${dataDir} (pid ${running.pid}) has no ${socket} yet; wait until it is ready`)
    yield* askForSnapshot(socket, { compression })
  }
}

async function* ofStoppedServer(
  dataDir: string,
  node: string,
  compression: SnapshotIndex["compression"],
): AsyncGenerator<Uint8Array> {
  const file = databaseFile(dataDir)
  if (hasEtcdData(dataDir))
    throw new Error(`the data of ${dataDir} are in etcd, which runs beside its server: start k3ts server`)
  if (!existsSync(file)) throw new Error(`there is no cluster in ${dataDir}: start k3ts server, or name its --data-dir`)
  const lock = lockDataDir(dataDir)
  try {
    const { revision, objects } = readStore(file)
    const cluster = uidIn(objects.find(({ key }) => key === CLUSTER_KEY)?.value)
    yield* packSnapshot(
      {
        info: { revision, time: realClock.now(), version, node, cluster },
        files: readServerFiles(join(dataDir, "server")),
        objects,
      },
      compression,
    )
  } finally {
    lock.release()
  }
}
