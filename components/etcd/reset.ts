import type { Clock } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { EtcdConnection } from "../../pkg/etcd/connection.ts"
import { listMembers, moveMember } from "../../pkg/etcd/members.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { issueEtcdCertificates, openEtcdAuthorities } from "./certificates.ts"
import { connectEtcd } from "./connect.ts"
import { peerUrl, type EtcdConfig } from "./etcd-config.ts"
import { untilHealthy } from "./health.ts"
import { MemberFolder } from "./member-state.ts"
import { endOrphanedEtcd, launchEtcd } from "./process.ts"

export interface ResetOptions extends EtcdConfig {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly signal: AbortSignal
  /** Called while the member runs, alone. */
  readonly alone: (etcd: EtcdConnection) => Promise<void>
}

/**
 * Makes the member of this server the only one of its cluster, with the data that it has. For a server that is stopped.
 * Source: k3s pkg/etcd/etcd.go Reset.
 * @throws Error where there are no data, or etcd does not start
 */
export async function resetCluster(options: ResetOptions): Promise<void> {
  const { folder: path, tlsFolder, nodeName, clock, random, log, signal, alone } = options
  const folder = new MemberFolder(path)
  const { hasData, unfinished } = folder.state({ hasDatabase: false, joins: false })
  if (!hasData || unfinished !== undefined)
    throw new Error(
      `Cannot reset the cluster: ${path} has no complete data of an etcd. Run this at a server that was a member, or ` +
        "bring back a snapshot with --cluster-reset-restore-path",
    )
  await endOrphanedEtcd(path, clock)
  const now = clock.now()
  issueEtcdCertificates(tlsFolder, openEtcdAuthorities(tlsFolder, now), options, now)
  const name = folder.name(nodeName, random)
  const process = launchEtcd({ config: options, name, initial: undefined, forceNewCluster: true, log, clock })
  try {
    await untilHealthy(process, { metricsPort: options.ports.metrics, clock, log, signal })
    const etcd = connectEtcd(options, clock)
    try {
      const [member] = await listMembers(etcd)
      if (member !== undefined && !member.peerURLs.includes(peerUrl(options)))
        await moveMember(etcd, member.id, peerUrl(options))
      await alone(etcd)
    } finally {
      etcd.close()
    }
  } finally {
    await process.stop()
  }
  folder.unmark("removed")
}
