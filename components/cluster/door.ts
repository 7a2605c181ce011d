import type { BesideApi } from "../apiserver/serving/listener.ts"
import type { ApiServer } from "../apiserver/apiserver.ts"
import { DOOR, SERVING, type AgentConfig } from "../supervisor/agent-config.ts"
import type { Door } from "../supervisor/door.ts"
import type { Tunnels } from "../supervisor/tunnel/tunnels.ts"
import { AGENT_IDENTITIES, certificateKinds } from "./agent-identities.ts"
import type { Clients, Tools } from "./clients.ts"

/** What agents are told of the cluster, and where the tokens are. */
export interface DoorConfig extends Omit<AgentConfig, "clientCa" | "servers" | "certificates"> {
  /** The folder of the files of the join tokens: `<data-dir>/server`. */
  readonly dir: string
}

/** The components are asked for when the first machine comes. */
export interface DoorParts {
  readonly apiServer: Pick<ApiServer, "files" | "bootstrapToken">
  readonly clients: Clients
  readonly tunnels: Tunnels
}

/** Returns the door for machines that join. Its code is loaded with the first request to it. */
export function clusterDoor(tools: Tools, parts: () => DoorParts, { dir, ...config }: DoorConfig): BesideApi {
  let door: Promise<Door> | undefined
  const open = async (): Promise<Door> => {
    const { createDoor } = await import("../supervisor/door.ts")
    const { JoinTokens } = await import("../supervisor/join-tokens.ts")
    const { apiServer, clients, tunnels } = parts()
    return createDoor({
      ...tools,
      log: tools.log.child({ component: "supervisor" }),
      client: clients.clientFor({ name: "system:k3ts-supervisor" }),
      tunnels,
      tokens: new JoinTokens(dir, (text) => apiServer.bootstrapToken(text)),
      files: () => apiServer.files!,
      config: { ...config, certificates: [...certificateKinds(config.disabled), SERVING] },
      subjectOf(kind, node) {
        if (!certificateKinds(config.disabled).includes(kind)) return undefined
        const { name, groups = [] } = AGENT_IDENTITIES[kind]!(node)
        return { commonName: name, organizations: groups }
      },
    })
  }
  const opened = (): Promise<Door> => (door ??= open())
  return {
    onRequest(req, res) {
      const { url = "" } = req
      if (url !== DOOR.authorities && url !== DOOR.config && !url.startsWith(DOOR.certificates)) return false
      opened()
        .then((one) => one.onRequest(req, res))
        .catch(() => void res.destroy())
      return true
    },
    onUpgrade(req, socket, head) {
      const { url = "" } = req
      if (url !== DOOR.tunnel && !url.startsWith(`${DOOR.tunnel}/`)) return false
      opened()
        .then((one) => one.onUpgrade(req, socket, head))
        .catch(() => void socket.destroy())
      return true
    },
    stop: () => parts().tunnels.stop(),
  }
}
