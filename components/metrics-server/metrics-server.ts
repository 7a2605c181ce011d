import { ApiError, isNotFound } from "../../pkg/apimachinery/errors.ts"
import { formatQuantity, type Quantity } from "../../pkg/apimachinery/scalars/quantity.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Client } from "../../pkg/client/client.ts"
import { timestamp, type Clock } from "../../pkg/clock/clock.ts"
import type { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { tableOf } from "./table.ts"
import type { Metrics, MetricsList } from "./metrics-types.ts"
import type { Usage } from "./metrics-types.ts"

export interface MetricsServerParts {
  /** The client of the metrics server, with the right to read nodes and pods. */
  readonly client: Client
  /** Connections to kubelets, which read usage from the kernel on request. */
  readonly connectors: NodeConnectors
  readonly clock: Clock
}

const ROOT = "/apis/metrics.k8s.io/v1beta1"
const API_VERSION = "metrics.k8s.io/v1beta1"
/**
 * The window that responses show. The real one is the time since the last request, at least this if that is longer. See
 * kubelet/stats/cpu-rates.
 */
const WINDOW = "10s"

interface Measured {
  readonly cpu?: { readonly usageNanoCores?: number }
  readonly memory?: { readonly workingSetBytes: number }
}
/** The fields of a kubelet's summary that are read here. */
interface Summary {
  readonly node: Measured
  readonly pods: readonly {
    readonly podRef: { readonly uid: string }
    readonly containers: readonly (Measured & { readonly name: string })[]
  }[]
}

/**
 * The metrics API: the current usage of nodes and pods, for `kubectl top` and autoscalers. It requests summaries from
 * the kubelets only when a client requests metrics. Source of names and forms: kubernetes-sigs/metrics-server pkg/api.
 * Requests were authorized before.
 */
export function createMetricsServer(parts: MetricsServerParts): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    try {
      if (request.method !== "GET") throw new ApiError("MethodNotAllowed", "only reading is supported by this server")
      if (pathname === ROOT) return Response.json(RESOURCES)
      const asked = askedFor(pathname)
      if (asked === undefined) return new Response("404 page not found\n", { status: 404 })
      const answer = await answerTo(asked, searchParams, parts)
      const asTable = /as=Table/.test(request.headers.get("accept") ?? "")
      return Response.json(asTable ? tableOf(answer) : answer)
    } catch (err) {
      const status = ApiError.from(err).toStatus()
      return Response.json(status, { status: status.code ?? 500 })
    }
  }
}

interface Asked {
  readonly kind: Metrics["kind"]
  readonly namespace?: string
  readonly name?: string
}

function askedFor(pathname: string): Asked | undefined {
  if (!pathname.startsWith(`${ROOT}/`)) return undefined
  const parts = pathname
    .slice(ROOT.length + 1)
    .split("/")
    .map(decodeURIComponent)
  const named = (name: string | undefined) => (name === undefined ? {} : { name })
  if (parts[0] === "nodes" && parts.length <= 2) return { kind: "NodeMetrics", ...named(parts[1]) }
  if (parts[0] === "pods" && parts.length === 1) return { kind: "PodMetrics" }
  const [root, namespace, pods, name, more] = parts
  if (root !== "namespaces" || pods !== "pods" || more !== undefined) return undefined
  return { kind: "PodMetrics", namespace: namespace!, ...named(name) }
}

async function answerTo(
  { kind, namespace, name }: Asked,
  query: URLSearchParams,
  parts: MetricsServerParts,
): Promise<Metrics | MetricsList> {
  const selection = {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  }
  const { client } = parts
  if (kind === "NodeMetrics") {
    if (name === undefined) {
      const { items } = await client.list(Node, selection)
      return listOf("NodeMetricsList", await ofNodes(items, parts))
    }
    const node = await found(client.get(Node, { name }), "nodemetrics", name)
    return only(await ofNodes([node], parts), "nodemetrics", name)
  }
  if (name === undefined) {
    const { items } = await client.list(Pod, namespace === undefined ? selection : { ...selection, namespace })
    return listOf("PodMetricsList", await ofPods(items, parts))
  }
  const about = `${namespace}/${name}`
  const pod = await found(client.get(Pod, { namespace: namespace!, name }), "podmetrics", about)
  return only(await ofPods([pod], parts), "podmetrics", about)
}

const listOf = (kind: MetricsList["kind"], items: readonly Metrics[]): MetricsList => ({
  kind,
  apiVersion: API_VERSION,
  metadata: {},
  items,
})

async function found<T>(object: Promise<T>, plural: string, name: string): Promise<T> {
  return object.catch((err: unknown) => {
    throw isNotFound(err) ? notFound(plural, name) : err
  })
}

function only([metrics]: readonly Metrics[], plural: string, name: string): Metrics {
  if (metrics === undefined) throw notFound(plural, name)
  return metrics
}

const notFound = (plural: string, name: string): ApiError =>
  new ApiError("NotFound", `${plural}.metrics.k8s.io ${JSON.stringify(name)} not found`)

async function ofNodes(nodes: readonly Node[], parts: MetricsServerParts): Promise<readonly Metrics[]> {
  const metrics = await Promise.all(
    nodes.map(async (node) => {
      const summary = await summaryOf(node.metadata.name ?? "", parts)
      const usage = summary === undefined ? undefined : usageOf(summary.node)
      return usage === undefined ? undefined : { kind: "NodeMetrics" as const, ...base(node, parts.clock), usage }
    }),
  )
  return metrics.filter((one) => one !== undefined)
}

/** A pod is left out while one of its containers was not measured yet. */
async function ofPods(pods: readonly Pod[], parts: MetricsServerParts): Promise<readonly Metrics[]> {
  const running = pods.filter(({ spec, status }) => (spec.nodeName ?? "") !== "" && status.phase === "Running")
  const nodes = [...new Set(running.map(({ spec }) => spec.nodeName!))]
  const summaries = await Promise.all(nodes.map((node) => summaryOf(node, parts)))
  const byUid = new Map(
    summaries.flatMap((summary) => summary?.pods.map((pod) => [pod.podRef.uid, pod.containers] as const) ?? []),
  )
  return running.flatMap((pod) => {
    const measured = (byUid.get(pod.metadata.uid ?? "") ?? []).map((one) => ({ name: one.name, usage: usageOf(one) }))
    const containers = measured.flatMap(({ name, usage }) => (usage === undefined ? [] : [{ name, usage }]))
    if (containers.length === 0 || containers.length < measured.length) return []
    return [{ kind: "PodMetrics" as const, ...base(pod, parts.clock), containers }]
  })
}

function base({ metadata }: KubeObject, clock: Clock): Omit<Metrics, "kind"> {
  const { name = "", namespace, labels } = metadata
  const now = timestamp(clock)
  return {
    apiVersion: API_VERSION,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      creationTimestamp: now,
      ...(labels === undefined ? {} : { labels }),
    },
    timestamp: now,
    window: WINDOW,
  }
}

/** Returns the kubelet's current summary; undefined when it cannot be reached. */
async function summaryOf(node: string, { connectors }: MetricsServerParts): Promise<Summary | undefined> {
  try {
    const request = new Request("http://kubelet/stats/summary?only_cpu_and_memory=true")
    const response = await connectors.get(node)?.proxy?.(request)
    return response?.ok === true ? ((await response.json()) as Summary) : undefined
  } catch {
    return undefined
  }
}

function usageOf({ cpu, memory }: Measured): Usage | undefined {
  if (cpu?.usageNanoCores === undefined || memory === undefined) return undefined
  const kibibytes: Quantity = {
    nano: BigInt(Math.floor(memory.workingSetBytes / 1024)) * 1024n * 1_000_000_000n,
    format: "BinarySI",
  }
  return {
    cpu: formatQuantity({ nano: BigInt(Math.round(cpu.usageNanoCores)), format: "DecimalSI" }),
    memory: formatQuantity(kibibytes),
  }
}

const resource = (name: string, kind: string, namespaced: boolean) => ({
  name,
  singularName: "",
  namespaced,
  kind,
  verbs: ["get", "list"],
})
const RESOURCES = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: API_VERSION,
  resources: [resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)],
}
