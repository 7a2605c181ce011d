import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { reportAll, reportOne, type HealthCheck } from "../../../pkg/component/health.ts"
import { createHealthSlis, type HealthSlis } from "../../../pkg/component/health-slis.ts"
import type { NodeConnector } from "../../../pkg/component/node-connector.ts"
import { exposition } from "../../../pkg/metrics/exposition.ts"
import { cadvisorMetrics } from "../stats/cadvisor-metrics.ts"
import { volumeMetrics } from "../stats/volume-metrics.ts"
import { resourceMetrics } from "../stats/resource-metrics.ts"
import { cgroupFolder } from "../runtime/cri/cgroups.ts"
import { measureDisks, takeSample, type Sample, type StatsParts } from "../stats/sample.ts"
import { CpuRates } from "../stats/cpu-rates.ts"
import { summaryOf } from "../stats/summary.ts"
import type { StatusManager } from "../status/status-manager.ts"
import { kubeletConfiguration } from "./configz.ts"
import { containerLogs } from "./container-logs.ts"
import { hostLogs } from "./host-logs.ts"
import { knownPods, runningPods } from "./pods.ts"
import { runCommand } from "./run-command.ts"

export interface KubeletServerParts extends StatsParts {
  readonly status: StatusManager
  readonly logs: NodeConnector["logs"]
  /** Why the kubelet does not do its work, or nothing. */
  problem(): string | undefined
}

type Handler = (request: Request, url: URL) => Response | Promise<Response>

/**
 * What the kubelet answers under /api/v1/nodes/NAME/proxy/ and on its port: the paths of upstream's port 10250. Who may
 * ask has been settled by the API server (nodes/proxy) or the port (port/kubelet-port.ts). Streams (`/exec`, `/attach`,
 * `/portForward`) are not among them: both hand those to the connector. Source: pkg/kubelet/server/server.go.
 */
export function kubeletServer(parts: KubeletServerParts): (request: Request) => Promise<Response> {
  const { context } = parts
  const { config, runtime, metrics } = context
  const slis = createHealthSlis(context.clock.now())
  const rates = new CpuRates()
  const summary = async (sample: Sample, onlyCpuAndMemory: boolean) =>
    summaryOf({
      nodeName: config.nodeName,
      memoryBytes: runtime.machine.memoryBytes,
      sample,
      rate: rates.begin(),
      ...(onlyCpuAndMemory ? {} : { rest: await restOf(sample) }),
    })
  const restOf = async (sample: Sample) => {
    const [disks, processes, usages] = await Promise.all([
      measureDisks(context),
      runtime.machine.processes(),
      parts.volumeUsages.measure(sample.each.map(({ pod }) => pod)),
    ])
    return { disks, processes, volumes: usages }
  }
  const volumesOfPods = async () => {
    const pods = parts.workers.pods()
    const usages = await parts.volumeUsages.measure(pods)
    return pods.map(({ metadata: { namespace = "", name = "", uid = "" } }) => ({
      namespace,
      pod: name,
      usages: usages.get(uid) ?? [],
    }))
  }
  const exact: Readonly<Record<string, Handler>> = {
    "/pods": () => Response.json(knownPods(parts.workers, parts.status)),
    "/runningpods": () => Response.json(runningPods(parts.cache)),
    "/stats/summary": async (_, { searchParams }) => {
      const isHalf = isTrue(searchParams.get("only_cpu_and_memory"))
      return Response.json(await summary(await takeSample(parts, isHalf ? "cpu and memory" : "all"), isHalf))
    },
    "/metrics": async () => metricsText(metrics.kubelet.text() + exposition(volumeMetrics(await volumesOfPods()))),
    "/metrics/slis": () => metricsText(slis.registry.text()),
    "/metrics/probes": () => metricsText(metrics.probesText()),
    "/metrics/resource": async () => {
      const sample = await takeSample(parts, "cpu and memory")
      return metricsText(exposition(resourceMetrics(await summary(sample, true), sample.at)))
    },
    "/metrics/cadvisor": async () => {
      const [sample, disks] = await Promise.all([takeSample(parts), measureDisks(context)])
      return metricsText(
        exposition(
          cadvisorMetrics({
            sample,
            disks,
            machine: runtime.machine,
            folderOf: (cgroup) => cgroupFolder(cgroup, config.cgroupDriver),
          }),
        ),
      )
    },
    "/configz": () => Response.json({ kubeletconfig: kubeletConfiguration(config, context.port()) }),
  }
  const below: Readonly<Record<string, Handler>> = {
    "/healthz": (_, url) => health(url, parts.problem, slis),
    "/containerLogs": (request, url) => containerLogs(parts.logs, url, request.signal),
    "/logs": (request, url) => hostLogs(runtime.files, config.podLogs, url, request.signal),
    "/run": (_, url) => runCommand(parts, url),
  }
  return async (request) => {
    const url = new URL(request.url)
    const path = url.pathname.replace(/(.)\/$/, "$1")
    const root = /^\/[^/]*/.exec(path)?.[0] ?? ""
    const handler = exact[path] ?? below[root]
    if (handler === undefined) return text(404, "404 page not found\n")
    const methods = METHODS[path] ?? METHODS[root] ?? ["GET"]
    if (!methods.includes(request.method)) return text(405, "Method Not Allowed", { Allow: methods.join(", ") })
    try {
      return await handler(request, url)
    } catch (err) {
      const { code, message } = ApiError.from(err)
      return text(code, `${message}\n`)
    }
  }
}

/** The checks of the kubelet; `syncloop` is whether it looks after pods at all. */
function health({ pathname, searchParams }: URL, problem: () => string | undefined, slis: HealthSlis): Response {
  const checks: readonly HealthCheck[] = [
    { name: "ping", problem: () => undefined },
    { name: "log", problem: () => undefined },
    { name: "syncloop", problem },
  ]
  const name = pathname.slice("/healthz/".length)
  const check = checks.find((one) => one.name === name)
  if (name !== "" && check === undefined) return text(404, "404 page not found\n")
  const report =
    check !== undefined
      ? reportOne(check)
      : reportAll("healthz", checks, {
          excluded: searchParams.getAll("exclude"),
          verbose: searchParams.has("verbose"),
          mayKnow: () => true,
          observe: slis.at("healthz"),
        })
  return text(report.status, report.text)
}

/** Of what does more than be read. */
const METHODS: Readonly<Record<string, readonly string[]>> = { "/stats/summary": ["GET", "POST"], "/run": ["POST"] }

const isTrue = (value: string | null): boolean => value === "true" || value === "1"
const text = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(body, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } })
const metricsText = (body: string): Response =>
  text(200, body, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" })
