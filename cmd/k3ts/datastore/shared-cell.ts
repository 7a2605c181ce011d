import { datastoreOptions } from "../../../components/apiserver/store/datastore-options.ts"
import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import { SHARED_FILES_KEY } from "../../../components/supervisor/shared-files/shared-files.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { Cell } from "../../../pkg/cell/cell.ts"

/** Runs `use` with the place of the shared files in the store. @throws what `use` throws; Error that names a file */
export async function withSharedCell<T>(datastore: DatastoreConfig, use: (cell: Cell) => Promise<T>): Promise<T> {
  const { cell, close } = await openCell(datastore)
  try {
    return await use(cell)
  } finally {
    close()
  }
}

async function openCell(datastore: DatastoreConfig): Promise<{ readonly cell: Cell; close(): void }> {
  const options = datastoreOptions(datastore, realClock)
  if ("postgres" in options) {
    const { PostgresCell } = await import("../../../pkg/storage/replicated/postgres/postgres-cell.ts")
    const cell = new PostgresCell(options.postgres, SHARED_FILES_KEY)
    return { cell, close: () => cell.close() }
  }
  const { EtcdConnection } = await import("../../../pkg/etcd/connection.ts")
  const { EtcdCell } = await import("../../../pkg/etcd/etcd-cell.ts")
  const etcd = new EtcdConnection(options.etcd)
  return { cell: new EtcdCell(etcd, SHARED_FILES_KEY), close: () => etcd.close() }
}
