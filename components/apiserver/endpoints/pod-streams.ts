import type { ObjectReader } from "../cacher/objects.ts"
import { badRequest, ApiError, notFound } from "../../../pkg/apimachinery/errors.ts"
import type { NodeConnector, NodeConnectors, PodTarget } from "../../../pkg/component/node-connector.ts"
import { passOn } from "../../../pkg/runtime/http/pass-on.ts"
import { Pod as PodKind } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { CommandStreams, RemoteCommandSession } from "../../../pkg/streaming/remote-command.ts"
import { isWebSocket } from "../../../pkg/streaming/upgrade.ts"
import type { Exchange } from "../call/exchange.ts"
import type { Query } from "../call/query.ts"
import { isTrue, type RequestInfo } from "../call/request-info.ts"
import { accepted, upgradeOf } from "./accept-upgrade.ts"
import type { ConnectionEntry } from "./connect.ts"
import { logOptionsOf } from "./log-options.ts"

/**
 * Serves `pods/log`, `exec`, `attach` and `portforward`: checks the request and passes it to the node of the pod. What
 * speaks SPDY and WebSockets is loaded with the first stream.
 * Source: pkg/registry/core/pod/strategy.go (LogLocation, ExecLocation …) and pkg/registry/core/pod/rest (also
 * AuthorizePodWebsocketUpgradeCreatePermission).
 */
export function podStreams(objects: ObjectReader, nodes: NodeConnectors): Readonly<Record<string, ConnectionEntry>> {
  const podOf = ({ namespace, name }: RequestInfo): PodKind => {
    const pod = objects.get(PodKind, { namespace, name })
    if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name)
    return pod
  }
  const nodeOf = ({ metadata, spec }: PodKind): NodeConnector => {
    const { nodeName = "" } = spec
    if (nodeName === "") throw badRequest(`pod ${metadata.name} does not have a host assigned`)
    const connector = nodes.get(nodeName)
    if (connector === undefined)
      throw new ApiError(
        "ServiceUnavailable",
        `Cannot reach node ${JSON.stringify(nodeName)}, which runs pod ${JSON.stringify(metadata.name)}: its ` +
          "kubelet is not connected to this server",
      )
    return connector
  }

  const command = (
    run: (
      connector: NodeConnector,
      pod: PodTarget,
      container: string,
      query: Query,
      streams: CommandStreams,
      accept: () => Promise<RemoteCommandSession | undefined>,
    ) => Promise<void>,
    options: { attach: boolean },
  ): ConnectionEntry => ({
    verbs: ["get", "create"],
    starts: () => true,
    async connect(exchange, info) {
      const pod = podOf(info)
      const { query } = info
      const container = containerOf(pod, query.get("container"), options)
      const connector = nodeOf(pod)
      const streams = streamsOf(query)
      const upgrade = upgradeOf(exchange)
      const { acceptRemoteCommand } = await import("../../../pkg/streaming/remote-command.ts")
      await run(connector, targetOf(pod), container, query, streams, () =>
        accepted(exchange, upgrade, (req, socket, head) => acceptRemoteCommand(req, socket, head, streams)),
      )
    },
  })

  return {
    "pods/log": {
      verbs: ["get"],
      async connect(exchange, info) {
        // Options are looked at before the pod, as upstream.
        const asked = logOptionsOf(info.query, info.name)
        const pod = podOf(info)
        const options = { ...asked, container: containerOf(pod, info.query.get("container"), { attach: false }) }
        // A pod without a node has an empty log. Source: pkg/registry/core/pod/strategy.go LogLocation.
        const isUnassigned = (pod.spec.nodeName ?? "") === ""
        const log = isUnassigned ? noLog() : await nodeOf(pod).logs(targetOf(pod), options, goneSignal(exchange))
        const { req, upgrade } = exchange
        if (upgrade === undefined || !isWebSocket(req)) return sendLog(exchange, log)
        const { sendLogOverWebSocket } = await import("./log-socket.ts")
        await sendLogOverWebSocket(exchange, upgrade, log)
      },
    },
    "pods/exec": command(
      (connector, pod, container, query, streams, accept) => {
        const argv = query.all("command")
        if (argv.length === 0) throw badRequest("you must specify at least one command for the container")
        return connector.exec(pod, { container, command: argv, streams }, accept)
      },
      { attach: false },
    ),
    "pods/attach": command(
      (connector, pod, container, _query, streams, accept) => connector.attach(pod, { container, streams }, accept),
      { attach: true },
    ),
    "pods/portforward": {
      verbs: ["get", "create"],
      starts: () => true,
      async connect(exchange, info) {
        const pod = podOf(info)
        const connector = nodeOf(pod)
        const upgrade = upgradeOf(exchange)
        const { acceptPortForward } = await import("../../../pkg/streaming/port-forward.ts")
        await connector.portForward(targetOf(pod), () =>
          accepted(exchange, upgrade, (req, socket, head) => acceptPortForward(req, socket, head)),
        )
      },
    },
  }
}

async function* noLog(): AsyncGenerator<Uint8Array> {}

const targetOf = ({ metadata: { namespace = "", name = "", uid = "" } }: PodKind): PodTarget => ({
  namespace,
  name,
  uid,
})

/**
 * Returns the container of the request: the one it names, else the one annotated as default, else the only one. Source:
 * pkg/registry/core/pod/strategy.go.
 */
function containerOf({ metadata, spec }: PodKind, asked: string | undefined, { attach }: { attach: boolean }): string {
  const containers = spec.containers.map(({ name }) => name)
  const inits = (spec.initContainers ?? []).map(({ name }) => name)
  const ephemeral = (spec.ephemeralContainers ?? []).map(({ name }) => name)
  if (asked !== undefined && asked !== "") {
    if (![...containers, ...inits, ...ephemeral].includes(asked))
      throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`)
    return asked
  }
  const preferred = metadata.annotations?.["kubectl.kubernetes.io/default-container"]
  if (preferred !== undefined && containers.includes(preferred)) return preferred
  if (containers.length === 1) return containers[0]!
  const others = inits.length > 0 && !attach ? ` or one of the init containers: [${inits.join(" ")}]` : ""
  throw badRequest(
    `a container name must be specified for pod ${metadata.name}, choose one of: [${containers.join(" ")}]${others}`,
  )
}

function streamsOf(query: Query): CommandStreams {
  const on = (name: string) => isTrue(query.get(name))
  const streams = { stdin: on("stdin"), stdout: on("stdout"), stderr: on("stderr"), tty: on("tty") }
  if (!streams.stdin && !streams.stdout && !streams.stderr)
    throw badRequest("you must specify at least 1 of stdin, stdout, stderr")
  return streams
}

/** Returns a signal that aborts when the client goes away. */
function goneSignal({ res }: Exchange): AbortSignal {
  const gone = new AbortController()
  if (res.destroyed) gone.abort()
  else res.once("close", () => gone.abort())
  return gone.signal
}

async function sendLog(exchange: Exchange, log: AsyncIterable<Uint8Array>): Promise<void> {
  const { res } = exchange
  if (!res.headersSent) res.writeHead(200, exchange.headers("text/plain"))
  await passOn(log, res)
}
