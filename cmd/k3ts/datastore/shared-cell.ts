import { etcdTlsOf } from "../../../components/apiserver/etcd-tls.ts"
import type { DatastoreConfig } from "../../../components/apiserver/storage-config.ts"
import { SHARED_FILES_KEY } from "../../../components/supervisor/shared-files/shared-files.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { EtcdCell, type Cell } from "../../../pkg/etcd/cell.ts"
import { EtcdConnection } from "../../../pkg/etcd/connection.ts"

/** Runs `use` with the place of the shared files in the store. @throws what `use` throws; Error that names a file */
export async function withSharedCell<T>(datastore: DatastoreConfig, use: (cell: Cell) => Promise<T>): Promise<T> {
  const etcd = new EtcdConnection({ endpoints: datastore.endpoints, tls: etcdTlsOf(datastore), clock: realClock })
  try {
    return await use(new EtcdCell(etcd, SHARED_FILES_KEY))
  } finally {
    etcd.close()
  }
}
