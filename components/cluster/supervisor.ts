import type { BesideApi } from "../apiserver/serving/beside.ts"
import type { ApiServer } from "../apiserver/apiserver.ts"
import type { AgentConfig } from "../supervisor/agent-config.ts"
import { SUPERVISOR_PATHS, SERVING } from "../supervisor/supervisor-paths.ts"
import type { Supervisor } from "../supervisor/supervisor.ts"
import type { Tunnels } from "../supervisor/tunnel/tunnels.ts"
import { AGENT_IDENTITIES, certificateKinds } from "./agent-identities.ts"
import type { Clients, Tools } from "./clients.ts"

/** The configuration that agents get, and where the join tokens are. */
export interface SupervisorConfig extends Omit<AgentConfig, "clientCa" | "servers" | "certificates"> {
  /** The folder of the files of the join tokens: `<data-dir>/server`. */
  readonly dir: string
  /** Returns what a server needs that joins, as JSON; absent where none can. */
  readonly invite?: (() => Promise<string>) | undefined
}

/** The components that the supervisor needs. They are read when the first machine asks. */
export interface SupervisorParts {
  readonly apiServer: Pick<ApiServer, "files" | "bootstrapToken">
  readonly clients: Clients
  readonly tunnels: Tunnels
}

const DOCUMENTS: readonly string[] = [
  SUPERVISOR_PATHS.authorities,
  SUPERVISOR_PATHS.config,
  SUPERVISOR_PATHS.invitation,
]

/** Returns the supervisor, which lets machines join. Its code is loaded when the first request comes. */
export function clusterSupervisor(
  tools: Tools,
  parts: () => SupervisorParts,
  { dir, invite, ...config }: SupervisorConfig,
): BesideApi {
  let supervisor: Promise<Supervisor> | undefined
  const open = async (): Promise<Supervisor> => {
    const { createSupervisor } = await import("../supervisor/supervisor.ts")
    const { JoinTokens } = await import("../supervisor/join-tokens.ts")
    const { apiServer, clients, tunnels } = parts()
    return createSupervisor({
      ...tools,
      log: tools.log.child({ component: "supervisor" }),
      client: clients.clientFor({ name: "system:k3ts-supervisor" }),
      tunnels,
      tokens: new JoinTokens(dir, (text) => apiServer.bootstrapToken(text)),
      files: () => apiServer.files!,
      invite,
      config: { ...config, certificates: [...certificateKinds(config.disabled), SERVING] },
      subjectOf(kind, node) {
        if (!certificateKinds(config.disabled).includes(kind)) return undefined
        const { name, groups = [] } = AGENT_IDENTITIES[kind]!(node)
        return { commonName: name, organizations: groups }
      },
    })
  }
  const opened = (): Promise<Supervisor> => (supervisor ??= open())
  return {
    serves(path, isUpgrade) {
      const { certificates, tunnel } = SUPERVISOR_PATHS
      return isUpgrade
        ? path === tunnel || path.startsWith(`${tunnel}/`)
        : DOCUMENTS.includes(path) || path.startsWith(certificates)
    },
    onRequest(req, res, notes) {
      opened()
        .then((one) => one.onRequest(req, res, notes))
        .catch(() => void res.destroy())
    },
    onUpgrade(req, socket, head, notes) {
      opened()
        .then((one) => one.onUpgrade(req, socket, head, notes))
        .catch(() => void socket.destroy())
    },
    stop: () => parts().tunnels.stop(),
  }
}
