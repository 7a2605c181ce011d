import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { NodeConnector, NodeConnectors } from "../../../pkg/component/node-connector.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { serveKubeletStream, streamTargetOf, type KubeletStreamTarget } from "../../../pkg/component/kubelet-streams.ts"
import { passOn } from "../../../pkg/runtime/http/pass-on.ts"
import type { Exchange } from "../call/exchange.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { noSuchMethod } from "../call/subresource-verbs.ts"
import type { ConnectionEntry } from "./connect.ts"
import { passRequest, passToSimulated } from "../proxy/proxy-pass.ts"
import { pathToTarget, prefixOf } from "../proxy/proxy-path.ts"
import { nodeTarget, podTarget, serviceTarget, type ProxyTarget } from "../proxy/proxy-target.ts"
import { passUpgrade } from "../proxy/proxy-upgrade.ts"

const VERBS = ["get", "create", "update", "patch", "delete", ""]

/**
 * Serves `pods/proxy`, `services/proxy` and `nodes/proxy`: passes requests, upgrades included, to servers in the
 * cluster. Source: pkg/registry/core/pod/rest/subresources.go ProxyREST, pkg/registry/core/node/rest/proxy.go.
 */
export function proxies({
  objects,
  nodes,
  random,
}: {
  readonly objects: ObjectReader
  readonly nodes: NodeConnectors
  readonly random: Random
}): Readonly<Record<string, ConnectionEntry>> {
  const entry = (target: (info: RequestInfo) => ProxyTarget): ConnectionEntry => ({
    verbs: VERBS,
    // `async`, so that the error of an invalid target name rejects the promise.
    connect: async (exchange, info) => pass(exchange, info, target(info), nodes),
  })
  return {
    "pods/proxy": entry((info) => podTarget(info, objects)),
    "services/proxy": entry((info) => serviceTarget(info, objects, random)),
    "nodes/proxy": {
      verbs: VERBS,
      // Stricter than upstream, where a user who may read a kubelet's metrics may also run commands in its pods.
      starts: (info) => streamTargetOf(info.rest) !== undefined,
      async connect(exchange, info) {
        const target = await nodeTarget(info, objects)
        if (target.kubelet === undefined) return pass(exchange, info, target.address, nodes)
        const connector = nodes.get(target.kubelet)
        if (connector === undefined) throw notConnected(target.kubelet)
        const stream = STREAMED.includes(exchange.req.method ?? "") ? streamTargetOf(info.rest) : undefined
        return stream === undefined
          ? askKubelet(exchange, info, target.kubelet, connector)
          : serveStream(exchange, info, stream, { node: target.kubelet, connector, objects })
      },
    },
  }
}

function pass(exchange: Exchange, info: RequestInfo, target: ProxyTarget, nodes: NodeConnectors): Promise<void> {
  const { req, res, upgrade } = exchange
  const fetch = nodes.get(target.node ?? "")?.fetch
  if (upgrade !== undefined && fetch === undefined) return passUpgrade(exchange, info, target, upgrade)
  // Relative links of the root page only work under a path that ends in a slash.
  if (info.rest === "" && (req.method === "GET" || req.method === "HEAD")) {
    res.setHeader("Location", `${prefixOf(exchange, info)}/${info.query.raw === "" ? "" : `?${info.query.raw}`}`)
    exchange.sendText(301, "")
    return Promise.resolve()
  }
  return fetch === undefined ? passRequest(exchange, info, target) : passToSimulated(exchange, info, target, fetch)
}

const notConnected = (node: string): ApiError =>
  new ApiError(
    "ServiceUnavailable",
    `Cannot reach node ${JSON.stringify(node)}: its kubelet is not connected to this server`,
  )

/** Serves exec, attach and port forwarding on the kubelet's own paths. Refusals are plain text. */
async function serveStream(
  exchange: Exchange,
  { query }: RequestInfo,
  target: KubeletStreamTarget,
  {
    node,
    connector,
    objects,
  }: { readonly node: string; readonly connector: NodeConnector; readonly objects: ObjectReader },
): Promise<void> {
  const { req, upgrade } = exchange
  const pod = objects.get(Pod, { namespace: target.namespace, name: target.pod })
  try {
    await serveKubeletStream(target, new URLSearchParams(query.raw), {
      pod: pod?.spec.nodeName === node ? pod : undefined,
      connector,
      upgrade: upgrade === undefined ? undefined : { req, ...upgrade, upgraded: () => upgrade.answer.upgraded() },
    })
  } catch (err) {
    const { code, message } = ApiError.from(err)
    exchange.sendText(code, message)
  }
}

/** Serves the kubelet's own paths. A response that comes slowly, such as a followed log, is streamed. */
async function askKubelet(
  exchange: Exchange,
  info: RequestInfo,
  node: string,
  { proxy }: NodeConnector,
): Promise<void> {
  const {
    req: { method = "GET" },
    res,
  } = exchange
  if (proxy === undefined) throw notConnected(node)
  if (!ASKABLE.includes(method)) throw noSuchMethod()
  const gone = new AbortController()
  res.once("close", () => gone.abort())
  const response = await proxy(
    new Request(`http://node${pathToTarget(info)}`, {
      method: method === "HEAD" ? "GET" : method,
      signal: gone.signal,
    }),
  )
  const { status, headers, body } = response
  const [type, allow] = [headers.get("content-type") ?? "text/plain", headers.get("allow")]
  if (method === "HEAD") {
    await body?.cancel()
    res.writeHead(status, exchange.headers(type))
    return void res.end()
  }
  if (body === null || headers.get("transfer-encoding") !== "chunked") {
    return exchange.send(
      status,
      type,
      new Uint8Array(await response.arrayBuffer()),
      allow === null ? {} : { Allow: allow },
    )
  }
  res.writeHead(status, exchange.headers(type))
  await passOn(body, res)
}

/** The methods of the kubelet's streams. */
const STREAMED: readonly string[] = ["GET", "POST"]
const ASKABLE: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
