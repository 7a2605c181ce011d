import type { PortForwardSession } from "../streaming/port-forward.ts"
import type { CommandStreams, RemoteCommandSession } from "../streaming/remote-command.ts"

/** The default port of a kubelet's own API. Source: pkg/cluster/ports/ports.go KubeletPort. */
export const KUBELET_PORT = 10250

/** A pod that should run on the node. */
export interface PodTarget {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** Source: core/v1 PodLogOptions. */
export interface LogOptions {
  readonly container: string
  readonly follow: boolean
  /** Reads the log of the container's previous run. */
  readonly previous: boolean
  readonly timestamps: boolean
  readonly sinceSeconds?: number
  /** A time as RFC 3339. */
  readonly sinceTime?: string
  readonly tailLines?: number
  readonly limitBytes?: number
  /** `All` by default. */
  readonly stream?: "All" | "Stdout" | "Stderr"
}

/**
 * The connection from the API server to what runs on a node: the only communication that does not go through objects.
 * It is a kubelet in this process, or a kubelet elsewhere that is reached over HTTPS. All methods throw ApiError while
 * an answer can still be sent.
 */
export interface NodeConnector {
  /** Returns the log so far, then, with `follow`, what is added until the container ends or `signal` aborts. */
  logs(pod: PodTarget, options: LogOptions, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /**
   * Runs a command in a container. `accept` completes the client's upgrade and returns its streams, or undefined when
   * the client is gone: call it once the command is known to be startable. Resolves when the command and its streams
   * have ended.
   */
  exec(
    pod: PodTarget,
    options: { readonly container: string; readonly command: readonly string[]; readonly streams: CommandStreams },
    accept: () => Promise<RemoteCommandSession | undefined>,
  ): Promise<void>
  /** Connects the client to the streams of a container's first process. */
  attach(
    pod: PodTarget,
    options: { readonly container: string; readonly streams: CommandStreams },
    accept: () => Promise<RemoteCommandSession | undefined>,
  ): Promise<void>
  /** Carries connections to ports of the pod until the client leaves. */
  portForward(pod: PodTarget, accept: () => Promise<PortForwardSession | undefined>): Promise<void>
  /**
   * Sends a request to an address of the node's pods that this machine's network does not reach: addresses of simulated
   * pods.
   * @throws Error in the words of Go's net.Dialer
   */
  fetch?(request: Request, to: { readonly host: string; readonly port: number }): Promise<Response>
  /** Answers requests to the kubelet's own HTTP paths (`/logs/`, `/stats/summary` …), if the kubelet has them. */
  proxy?(request: Request): Promise<Response>
}

/** The connectors of the nodes that can be reached, by node name. */
export class NodeConnectors {
  readonly #byNode = new Map<string, () => NodeConnector>()
  #elsewhere: (node: string) => NodeConnector | undefined = () => undefined

  get(node: string): NodeConnector | undefined {
    return this.#byNode.get(node)?.() ?? this.#elsewhere(node)
  }

  /** Adds a connector. Returns a function that removes it, unless another connector has replaced it. */
  register(node: string, connector: NodeConnector): () => void {
    return this.registerLate(node, () => connector)
  }

  /**
   * The same for a connector that `find` makes when it is first needed, and then returns again: of a thousand simulated
   * nodes hardly any is ever connected to.
   */
  registerLate(node: string, find: () => NodeConnector): () => void {
    this.#byNode.set(node, find)
    return () => {
      if (this.#byNode.get(node) === find) this.#byNode.delete(node)
    }
  }

  /** Sets `find`, which returns the connector of a node whose kubelet is not in this process. */
  findElsewhere(find: (node: string) => NodeConnector | undefined): void {
    this.#elsewhere = find
  }
}
