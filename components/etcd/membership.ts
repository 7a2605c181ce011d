/**
 * How a server becomes a member of the etcd of other servers. It is added without a vote (a learner), so that nobody
 * waits for it while it copies the log, and gets its vote when it has it. Source: k3s pkg/etcd/etcd.go join,
 * manageLearners.
 */
import { z } from "zod"
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import { EtcdError, type EtcdConnection } from "../../pkg/etcd/connection.ts"
import { addLearner, listMembers, promote, removeMember, type EtcdMember } from "../../pkg/etcd/members.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { EtcdAuthorities } from "./certificates.ts"
import type { InitialCluster } from "./process.ts"

/** What a server of the cluster tells one that joins, as JSON. */
export const Invitation = z.object({
  authorities: EtcdAuthorities,
  /** URLs at which the members serve clients. */
  members: z.array(z.url()).min(1).max(100),
})
export type Invitation = Readonly<z.output<typeof Invitation>>

const RETRY_MS = 1000
const PROMOTION_RETRY_MS = 200
/** A learner that has not run for so long, though others wait for its place, was left by a server that does not come. */
const ABANDONED_MS = 60_000

export interface JoiningOptions {
  readonly etcd: EtcdConnection
  readonly name: string
  readonly peerUrl: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

export interface Joined {
  readonly id: bigint
  readonly initial: InitialCluster
}

/** Makes this server a member without a vote, which then has to run. @throws the reason of `signal` */
export async function joinMembers({ etcd, name, peerUrl, clock, log, signal }: JoiningOptions): Promise<Joined> {
  const since = clock.monotonic()
  return until(
    { clock, log, signal, ms: RETRY_MS, what: "Cannot add this server to etcd yet; will retry" },
    async () => {
      const known = await listMembers(etcd)
      const isAbandoned = ({ name: other, isLearner }: EtcdMember) =>
        other === "" && isLearner && clock.monotonic() - since > ABANDONED_MS
      for (const member of known) {
        // One with this address is what is left of an earlier attempt, or of data that are gone.
        if (!member.peerURLs.includes(peerUrl) && !isAbandoned(member)) continue
        log.info("Removing a member of etcd that cannot come back", { member: member.name, peer: member.peerURLs[0] })
        await removeMember(etcd, member.id)
      }
      const { member, members } = await addLearner(etcd, peerUrl)
      const named = members.map((one) => (one.id === member.id ? { ...one, name } : one))
      return {
        id: member.id,
        initial: {
          state: "existing",
          members: named.flatMap((one) => one.peerURLs.map((url) => `${one.name}=${url}`)).join(","),
        },
      }
    },
  )
}

/** Gives the member of this server its vote as soon as it has the log. @throws the reason of `signal` */
export function promoteWhenReady(id: bigint, { etcd, clock, log, signal }: Omit<JoiningOptions, "name" | "peerUrl">) {
  const what = "Waiting until this server's etcd has the data of the others"
  return until({ clock, log, signal, ms: PROMOTION_RETRY_MS, what }, () => promote(etcd, id))
}

interface Attempts {
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly ms: number
  /** Logged at the first failure. */
  readonly what: string
}

/** Tries until etcd agrees. What it refuses now it may take later: a cluster takes one new member at a time. */
async function until<T>({ clock, log, signal, ms, what }: Attempts, run: () => Promise<T>): Promise<T> {
  for (let said: string | undefined; ;) {
    try {
      return await run()
    } catch (err) {
      if (!(err instanceof EtcdError)) throw err
      if (said !== err.message) log.info(what, { reason: err.message })
      said = err.message
      await sleep(clock, ms, signal)
    }
  }
}
