import type { PortForwardSession } from "../streaming/port-forward.ts"
import type { CommandStreams, RemoteCommandSession } from "../streaming/remote-command.ts"

/**
 * The port of a kubelet's own API unless told otherwise. Source: pkg/cluster/ports/ports.go KubeletPort.
 */
export const KUBELET_PORT = 10250

/** A pod that is meant to be on the node. */
export interface PodTarget {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** Source: core/v1 PodLogOptions. */
export interface LogOptions {
  readonly container: string
  readonly follow: boolean
  /** The logs of the container's last run before this one. */
  readonly previous: boolean
  readonly timestamps: boolean
  readonly sinceSeconds?: number
  /** RFC 3339. */
  readonly sinceTime?: string
  readonly tailLines?: number
  readonly limitBytes?: number
  /** `All` unless given. */
  readonly stream?: "All" | "Stdout" | "Stderr"
}

/**
 * The way from the API server to what runs on a node: the one thing that does not go through objects. The kubelet in
 * this process is one, a kubelet elsewhere is reached over HTTPS. All methods throw ApiError while an answer can still
 * be given.
 */
export interface NodeConnector {
  /** The log as it stands, then, with `follow`, as it grows until the container ends or `signal` aborts. */
  logs(pod: PodTarget, options: LogOptions, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /**
   * Runs a command in a container. `accept` completes the client's upgrade and gives its streams: call it once the
   * command is known to be startable; undefined when the client is gone. Resolves when all is over.
   */
  exec(
    pod: PodTarget,
    options: { readonly container: string; readonly command: readonly string[]; readonly streams: CommandStreams },
    accept: () => Promise<RemoteCommandSession | undefined>,
  ): Promise<void>
  /** Joins the streams of a container's first process. */
  attach(
    pod: PodTarget,
    options: { readonly container: string; readonly streams: CommandStreams },
    accept: () => Promise<RemoteCommandSession | undefined>,
  ): Promise<void>
  /** Carries connections to ports of the pod until the client leaves. */
  portForward(pod: PodTarget, accept: () => Promise<PortForwardSession | undefined>): Promise<void>
  /**
   * Sends a request to an address of the node's pods, where the machine's own network does not lead there: pods that
   * are simulated.
   * @throws Error in the words of a dialer
   */
  fetch?(request: Request, to: { readonly host: string; readonly port: number }): Promise<Response>
  /** Answers requests to the kubelet's own HTTP paths (`/logs/`, `/stats/summary` …), where it has some. */
  proxy?(request: Request): Promise<Response>
}

/** The connectors of the nodes that can be reached, by node name. */
export class NodeConnectors {
  readonly #byNode = new Map<string, NodeConnector>()
  #elsewhere: (node: string) => NodeConnector | undefined = () => undefined

  get(node: string): NodeConnector | undefined {
    return this.#byNode.get(node) ?? this.#elsewhere(node)
  }

  /** Gives what takes it away again, if it is still there. */
  register(node: string, connector: NodeConnector): () => void {
    this.#byNode.set(node, connector)
    return () => {
      if (this.#byNode.get(node) === connector) this.#byNode.delete(node)
    }
  }

  /** `find` returns the way to a node whose kubelet is not in this process. */
  findElsewhere(find: (node: string) => NodeConnector | undefined): void {
    this.#elsewhere = find
  }
}
