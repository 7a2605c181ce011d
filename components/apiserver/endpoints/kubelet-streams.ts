import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { NodeConnector } from "../../../pkg/component/node-connector.ts"
import { acceptPortForward } from "../../../pkg/streaming/port-forward.ts"
import { acceptRemoteCommand, type CommandStreams } from "../../../pkg/streaming/remote-command.ts"
import type { Exchange } from "../http/exchange.ts"
import type { Query } from "../http/query.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import type { RequestInfo } from "../http/request-info.ts"
import { accepted, upgradeOf } from "./accept-upgrade.ts"

interface Target {
  readonly kind: "exec" | "attach" | "portForward"
  readonly namespace: string
  readonly pod: string
  readonly uid: string | undefined
  readonly container: string
}

/** `/exec/NAMESPACE/POD[/UID]/CONTAINER`, the same with `attach`, and `/portForward/NAMESPACE/POD[/UID]`. */
export function streamTargetOf({ rest }: RequestInfo): Target | undefined {
  const [, kind = "", namespace = "", pod = "", ...more] = rest.replace(/\/$/, "").split("/").map(decodeURIComponent)
  if (kind === "portForward")
    return pod === "" || more.length > 1 ? undefined : { kind, namespace, pod, uid: more[0], container: "" }
  if ((kind !== "exec" && kind !== "attach") || more.length < 1 || more.length > 2) return undefined
  return { kind, namespace, pod, uid: more.length === 2 ? more[0] : undefined, container: more.at(-1)! }
}

/**
 * exec, attach and port forwarding as a kubelet serves them on its own paths, to whom the API server lets use
 * nodes/proxy. The parameters have other names than those of the pods' subresources, and what is refused is told in
 * plain text. Source: pkg/kubelet/server/server.go getExec, getAttach, getPortForward.
 */
export async function serveKubeletStream(
  exchange: Exchange,
  { query }: RequestInfo,
  target: Target,
  {
    node,
    connector,
    objects,
  }: { readonly node: string; readonly connector: NodeConnector; readonly objects: ObjectReader },
): Promise<void> {
  try {
    await serve(exchange, query, target, podOn(node, target, objects), connector)
  } catch (err) {
    const { code, message } = ApiError.from(err)
    exchange.sendText(code, message)
  }
}

async function serve(
  exchange: Exchange,
  query: Query,
  { kind, container, uid }: Target,
  { metadata, spec }: Pod,
  connector: NodeConnector,
): Promise<void> {
  const pod = { namespace: metadata.namespace ?? "", name: metadata.name ?? "", uid: metadata.uid ?? "" }
  const isOther = uid !== undefined && uid !== metadata.uid
  if (kind === "portForward") {
    if (isOther) throw new ApiError("NotFound", "pod not found")
    const upgrade = upgradeOf(exchange, leftOut)
    return connector.portForward(pod, () =>
      accepted(exchange, upgrade, (req, socket, head) => acceptPortForward(req, socket, head, "port")),
    )
  }
  const streams = streamsOf(query)
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])]
  if (isOther || !containers.some(({ name }) => name === container))
    throw new ApiError("InternalError", `container not found (${JSON.stringify(container)})`)
  const upgrade = upgradeOf(exchange, leftOut)
  const accept = () =>
    accepted(exchange, upgrade, (req, socket, head) => acceptRemoteCommand(req, socket, head, streams))
  return kind === "attach"
    ? connector.attach(pod, { container, streams }, accept)
    : connector.exec(pod, { container, command: query.all("command"), streams }, accept)
}

/** The kubelet takes it for its own failure when nobody asked to leave HTTP. */
const leftOut = (): ApiError => new ApiError("InternalError", "Upgrade request required")

function podOn(node: string, { namespace, pod: name }: Target, objects: ObjectReader): Pod {
  const pod = objects.get(Pod, { namespace, name })
  if (pod?.spec.nodeName !== node) throw new ApiError("NotFound", "pod does not exist")
  return pod
}

/** Source: k8s.io/cri-streaming pkg/streaming/remotecommand NewOptions. */
function streamsOf(query: Query): CommandStreams {
  const on = (name: string): boolean => query.get(name) === "1"
  const tty = on("tty")
  const streams = { stdin: on("input"), stdout: on("output"), stderr: on("error") && !tty, tty }
  if (!streams.stdin && !streams.stdout && !streams.stderr)
    throw new ApiError("BadRequest", "you must specify at least 1 of stdin, stdout, stderr")
  return streams
}
