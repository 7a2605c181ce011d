import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Cell } from "../../../pkg/cell/cell.ts"
import { datastoreOptions } from "./datastore-options.ts"
import type { DatastoreConfig } from "./storage-config.ts"

/**
 * Runs `use` with the cell of a key in the store that servers share.
 * @throws what `use` throws; Error that names a file
 */
export async function withSharedCell<T>(
  datastore: DatastoreConfig,
  key: string,
  clock: Clock,
  use: (cell: Cell) => Promise<T>,
): Promise<T> {
  const { cell, close } = await openCell(datastore, key, clock)
  try {
    return await use(cell)
  } finally {
    close()
  }
}

async function openCell(
  datastore: DatastoreConfig,
  key: string,
  clock: Clock,
): Promise<{ readonly cell: Cell; close(): void }> {
  const options = datastoreOptions(datastore, clock)
  if ("postgres" in options) {
    const { PostgresCell } = await import("../../../pkg/storage/replicated/postgres/postgres-cell.ts")
    const cell = new PostgresCell(options.postgres, key)
    return { cell, close: () => cell.close() }
  }
  const { EtcdConnection } = await import("../../../pkg/etcd/connection.ts")
  const { EtcdCell } = await import("../../../pkg/etcd/etcd-cell.ts")
  const etcd = new EtcdConnection(options.etcd)
  return { cell: new EtcdCell(etcd, key), close: () => etcd.close() }
}
