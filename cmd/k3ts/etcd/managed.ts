/** The etcd that runs beside a server: its configuration, which follows from the flags, and what begins and ends it. */
import { existsSync } from "node:fs"
import { copyToEtcd, putDatabaseAside, refuseToMove } from "../../../components/apiserver/store/move-to-etcd.ts"
import { databaseFile } from "../../../components/apiserver/store/database-file.ts"
import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import { ETCD_PORTS, type EtcdConfig } from "../../../components/etcd/etcd-config.ts"
import { ManagedEtcd } from "../../../components/etcd/etcd.ts"
import { resetCluster } from "../../../components/etcd/reset.ts"
import { askInvitation } from "../../../components/supervisor/server-join.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { withFile } from "../../../pkg/snapshot/sources.ts"
import { leapRevisions } from "../../../pkg/storage/replicated/etcd/revision-base.ts"
import { onPath } from "../checks/programs.ts"
import { UsageError } from "../cli/usage-error.ts"
import { kubeletNames, nodeNameOf } from "../config/cluster-config.ts"
import type { Context } from "../context.ts"
import type { ClusterNetwork } from "../config/network.ts"
import type { ServerFlags } from "../config/server-flags.ts"
import { restoreIntoLocked } from "../snapshot/restore.ts"
import { tokenOf } from "../token/flags.ts"
import { etcdFolder } from "./flags.ts"
import { besideEtcd, etcdTlsFolder } from "./own-etcd.ts"

/** The store that a server and its own etcd are. */
export interface ManagedStore {
  readonly etcd: ManagedEtcd
  readonly datastore: DatastoreConfig
}

/** @throws Error where etcd is not installed */
export function managedStore(flags: ServerFlags, network: ClusterNetwork, context: Context): ManagedStore {
  refuseMissing()
  const config = configOf(flags)
  const datastore = besideEtcd(flags["data-dir"])
  const { server } = flags
  const etcd = new ManagedEtcd(context, {
    ...config,
    database: databaseOf(flags, datastore, context),
    ...(server === undefined ? {} : { askInvitation: (signal) => invited(flags, server, network, context, signal) }),
  })
  return { etcd, datastore }
}

/**
 * Makes the etcd of this server a cluster of one member, with its own data or those of a snapshot. The data directory
 * must be locked.
 */
export async function resetManagedStore(
  flags: ServerFlags,
  network: ClusterNetwork,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  refuseMissing()
  const snapshot = flags["cluster-reset-restore-path"]
  if (snapshot === undefined) {
    const { clock, random, log } = context
    await resetCluster({ ...configOf(flags), clock, random, log, signal, alone: leapRevisions })
    return
  }
  const dataDir = flags["data-dir"]
  const restored = await withFile(snapshot, (source) =>
    restoreIntoLocked(source, { dataDir, replaceCluster: false, now: realClock.now() }),
  )
  if (restored.old !== undefined) context.log.info("Kept what was there before", { folder: restored.old })
  const { etcd } = managedStore({ ...flags, server: undefined }, network, context)
  try {
    await etcd.start(signal)
  } finally {
    await etcd.stop()
  }
}

const configOf = (flags: ServerFlags): EtcdConfig => ({
  folder: etcdFolder(flags["data-dir"]),
  tlsFolder: etcdTlsFolder(flags["data-dir"]),
  nodeName: nodeNameOf(flags),
  address: flags["advertise-address"] ?? kubeletNames(flags).nodeIps[0]!,
  ports: ETCD_PORTS,
})

const databaseOf = (flags: ServerFlags, datastore: DatastoreConfig, context: Context) => {
  const dataDir = flags["data-dir"]
  const { "secrets-encryption": secrets, "secrets-encryption-provider": provider } = flags
  const encryption = { secrets, provider, file: flags["encryption-provider-config"] }
  return {
    exists: () => existsSync(databaseFile(dataDir)),
    refuse: () => refuseToMove(dataDir),
    copy: () => copyToEtcd({ dataDir, datastore, encryption }, context),
    putAside: () => putDatabaseAside(dataDir),
  }
}

/** Asks the server of --server to let this one in. @throws UsageError without a token */
function invited(
  flags: ServerFlags,
  server: string,
  { clusterCidrs, serviceCidrs, clusterDns }: ClusterNetwork,
  { clock, log }: Context,
  signal: AbortSignal,
): Promise<string> {
  const token = tokenOf("token", flags.token, flags["token-file"])
  if (token === undefined)
    throw new UsageError("--server needs --token, which is in the file server/node-token of each server of the cluster")
  const settings = {
    clusterCidrs: [...clusterCidrs],
    serviceCidrs: [...serviceCidrs],
    clusterDns: [...clusterDns],
    clusterDomain: flags["cluster-domain"],
  }
  return askInvitation({ server, token, settings, clock, log, signal })
}

function refuseMissing(): void {
  if (onPath("etcd") === undefined)
    throw new Error(
      "Cannot keep the data in etcd: the program etcd is not on the PATH; apt-get install etcd-server, and have it not " +
        "run by itself: systemctl disable --now etcd",
    )
}
