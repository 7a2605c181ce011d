import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { ServerList } from "../../../pkg/client/server-list.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { SupervisorRefused } from "./ask-supervisor.ts"
import type { Membership } from "./membership.ts"

export interface JoinOptions {
  readonly membership: Pick<Membership, "refresh" | "isComplete">
  readonly servers: ServerList
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly signal: AbortSignal
}

const RETRY_MS = 1000
const LONGEST_RETRY_MS = 10_000

/**
 * Asks the servers, one after another, until one accepts this machine. A machine that has joined before asks each
 * server once; if none answers, it starts with the configuration and certificates on its disk. Returns whether a server
 * has answered. @throws Error when a server refuses this machine, or `signal` aborts
 */
export async function joinCluster({ membership, servers, clock, random, log, signal }: JoinOptions): Promise<boolean> {
  let wait = RETRY_MS
  for (let tries = 1; ; tries++) {
    const server = servers.current
    try {
      await membership.refresh(server)
      return true
    } catch (err) {
      if (err instanceof SupervisorRefused && err.isFinal) throw err
      signal.throwIfAborted()
      servers.failed(server)
      if (membership.isComplete && tries >= servers.all.length) {
        log.warn("No server answers: the node starts with its last configuration", { err })
        return false
      }
      log.warn("Cannot join yet; will retry", { err, waitMs: wait })
      await sleep(clock, wait * (1 + random.next()) * 0.5, signal)
      wait = Math.min(wait * 2, LONGEST_RETRY_MS)
    }
  }
}
