/** How a server asks another one of its cluster what it needs to join. */
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { askSupervisor, SupervisorRefused } from "./agent/ask-supervisor.ts"
import { AgentConfig } from "./agent-config.ts"
import { SUPERVISOR_PATHS } from "./supervisor-paths.ts"
import { authorizationOf, parseJoinToken, pinnedRoot } from "./join-token.ts"

/** What must be the same on all servers. */
export type ClusterSettings = Pick<AgentConfig, "clusterCidrs" | "serviceCidrs" | "clusterDns" | "clusterDomain">

export interface ServerJoinOptions {
  /** `https://host:port` of any server of the cluster. */
  readonly server: string
  readonly token: string
  /** Those of this server. */
  readonly settings: ClusterSettings
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const RETRY_MS = 2000
const TIMEOUT_MS = 10_000

/** Flags of the settings. */
const FLAGS: Readonly<Record<keyof ClusterSettings, string>> = {
  clusterCidrs: "--cluster-cidr",
  serviceCidrs: "--service-cidr",
  clusterDns: "--cluster-dns",
  clusterDomain: "--cluster-domain",
}

/**
 * Asks until the server answers. Resolves to JSON that only the store's side of a server reads.
 * @throws SupervisorRefused where it refuses this server; Error for settings that differ; the reason of `signal`
 */
export async function askInvitation(options: ServerJoinOptions): Promise<string> {
  const { server, clock, log, signal } = options
  for (let tries = 1; ; tries++) {
    try {
      return await ask(options)
    } catch (err) {
      if ((err instanceof SupervisorRefused && err.isFinal) || err instanceof DifferingSettings) throw err
      if (tries === 1) log.warn("Cannot join yet; will retry", { server, err })
      await sleep(clock, RETRY_MS, signal)
    }
  }
}

async function ask({ server, token, settings, clock, log }: ServerJoinOptions): Promise<string> {
  const { caHash, credential } = parseJoinToken(token, "server")
  const call = { clock, server, method: "GET", timeoutMs: TIMEOUT_MS } as const
  const shown = await askSupervisor({ ...call, path: SUPERVISOR_PATHS.authorities })
  const ca = caHash === undefined ? shown : pinnedRoot(shown, caHash)
  if (ca === undefined)
    throw new SupervisorRefused(server, 403, `its authority is not the one that the token names (SHA-256 ${caHash})`)
  if (caHash === undefined)
    log.warn("The token does not name the authority of the server, so any server is trusted", { server })
  const show = { ...call, ca, headers: { authorization: authorizationOf(credential) } }
  const theirs = AgentConfig.parse(JSON.parse(await askSupervisor({ ...show, path: SUPERVISOR_PATHS.config })))
  const names = Object.keys(FLAGS) as (keyof ClusterSettings)[]
  const differing = names.filter((name) => String(theirs[name]) !== String(settings[name]))
  if (differing.length > 0) throw new DifferingSettings(server, differing, theirs, settings)
  return askSupervisor({ ...show, path: SUPERVISOR_PATHS.invitation })
}

class DifferingSettings extends Error {
  override readonly name = "DifferingSettings"

  constructor(
    server: string,
    differing: readonly (keyof ClusterSettings)[],
    theirs: ClusterSettings,
    own: ClusterSettings,
  ) {
    const all = differing.map((name) => `${FLAGS[name]} is ${theirs[name]} there and ${own[name]} here`)
    super(`This server has other settings than ${server}: ${all.join(", ")}. Give it the same flags`)
  }
}
