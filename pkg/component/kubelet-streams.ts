import type { Duplex } from "node:stream"
import { ApiError, badRequest } from "../apimachinery/errors.ts"
import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { CommandStreams } from "../streaming/remote-command.ts"
import type { UpgradeRequest } from "../streaming/upgrade.ts"
import type { NodeConnector } from "./node-connector.ts"

export interface KubeletStreamTarget {
  readonly kind: "exec" | "attach" | "portForward"
  readonly namespace: string
  readonly pod: string
  readonly uid: string | undefined
  readonly container: string
}

/** The raw connection of a client that asked for a protocol upgrade. */
export interface StreamUpgrade {
  readonly req: UpgradeRequest
  readonly socket: Duplex
  /** The bytes that the client has sent after the head of its request. */
  readonly head: Buffer
  /** Called when the connection is handed over: after that no HTTP answer can be sent. */
  upgraded(): void
}

/**
 * Reads `/exec/NAMESPACE/POD[/UID]/CONTAINER`, the same with `attach`, and `/portForward/NAMESPACE/POD[/UID]`, from a
 * path that is still percent-encoded. Returns undefined for every other path.
 * @throws ApiError BadRequest
 */
export function streamTargetOf(path: string): KubeletStreamTarget | undefined {
  if (!/^\/(exec|attach|portForward)\//.test(path)) return undefined
  const [, kind = "", namespace = "", pod = "", ...more] = path.replace(/\/$/, "").split("/").map(decoded)
  if (kind === "portForward")
    return pod === "" || more.length > 1 ? undefined : { kind, namespace, pod, uid: more[0], container: "" }
  if ((kind !== "exec" && kind !== "attach") || more.length < 1 || more.length > 2) return undefined
  return { kind, namespace, pod, uid: more.length === 2 ? more[0] : undefined, container: more.at(-1)! }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw badRequest(`invalid URL escape in ${JSON.stringify(segment)}`)
  }
}

/**
 * Serves exec, attach and port forwarding as a kubelet does on its own paths. The query parameters have other names
 * than those of the pods' subresources. `pod` is undefined when the node has no such pod. Source:
 * pkg/kubelet/server/server.go getExec, getAttach, getPortForward. What speaks SPDY and WebSockets is loaded with the
 * first stream.
 * @throws ApiError while an HTTP answer can still be sent
 */
export async function serveKubeletStream(
  { kind, container, uid }: KubeletStreamTarget,
  query: URLSearchParams,
  {
    pod,
    connector,
    upgrade,
  }: {
    readonly pod: Pick<Pod, "metadata" | "spec"> | undefined
    readonly connector: Pick<NodeConnector, "exec" | "attach" | "portForward">
    readonly upgrade: StreamUpgrade | undefined
  },
): Promise<void> {
  if (pod === undefined) throw new ApiError("NotFound", "pod does not exist")
  const { metadata, spec } = pod
  const target = { namespace: metadata.namespace ?? "", name: metadata.name ?? "", uid: metadata.uid ?? "" }
  const isOther = uid !== undefined && uid !== metadata.uid
  if (kind === "portForward") {
    if (isOther) throw new ApiError("NotFound", "pod not found")
    const { req, socket, head, upgraded } = wanted(upgrade)
    const { acceptPortForward } = await import("../streaming/port-forward.ts")
    return connector.portForward(target, () => {
      upgraded()
      return acceptPortForward(req, socket, head, "port")
    })
  }
  const streams = streamsOf(query)
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])]
  if (isOther || !containers.some(({ name }) => name === container))
    throw new ApiError("InternalError", `container not found (${JSON.stringify(container)})`)
  const { req, socket, head, upgraded } = wanted(upgrade)
  const { acceptRemoteCommand } = await import("../streaming/remote-command.ts")
  const accept = () => {
    upgraded()
    return acceptRemoteCommand(req, socket, head, streams)
  }
  return kind === "attach"
    ? connector.attach(target, { container, streams }, accept)
    : connector.exec(target, { container, command: query.getAll("command"), streams }, accept)
}

/** Returns the upgrade. Without one the kubelet answers 500 InternalError, not 400. */
function wanted(upgrade: StreamUpgrade | undefined): StreamUpgrade {
  if (upgrade === undefined) throw new ApiError("InternalError", "Upgrade request required")
  return upgrade
}

/** Returns the streams that the query asks for. Source: k8s.io/cri-streaming pkg/streaming/remotecommand NewOptions. */
function streamsOf(query: URLSearchParams): CommandStreams {
  const on = (name: string): boolean => query.get(name) === "1"
  const tty = on("tty")
  const streams = { stdin: on("input"), stdout: on("output"), stderr: on("error") && !tty, tty }
  if (!streams.stdin && !streams.stdout && !streams.stderr)
    throw badRequest("you must specify at least 1 of stdin, stdout, stderr")
  return streams
}
