import { joinHostPort, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import { reportAll, reportOne, type HealthCheck } from "../../../pkg/component/health.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import { METRIC_PREFIX } from "../metrics.ts"
import type { ProxyMode } from "../rule-writer.ts"
import {
  openOneAnswerServer,
  plainAnswer,
  type Answer,
  type OneAnswerServer,
  type Question,
} from "./one-answer-server.ts"
import { HEALTHZ_PORT, STATUS_PORT } from "./ports.ts"
import type { HealthVerdict, ProxiedNode, ProxyHealth } from "./proxy-health.ts"

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Where the proxy's health and its state can be asked for; nowhere with an empty list. */
export interface ProxyServing {
  readonly health: readonly HostPort[]
  readonly status: readonly HostPort[]
}

export interface LocalServersParts {
  readonly serving: ProxyServing
  readonly mode: ProxyMode
  readonly health: Pick<ProxyHealth, "healthz" | "livez">
  /** This proxy's Node. */
  node(): ProxiedNode | undefined
  readonly metrics: Registry
  readonly clock: Clock
  readonly log: Logger
}

/** The delay before another attempt to listen. Source: cmd/kube-proxy/app/server.go serveHealthz. */
const RETRY_MS = 5000
const NOT_FOUND = plainAnswer(404, "404 page not found\n")

/**
 * Upstream's ports on loopback only, as k3s has them: nothing asks for rights there. The family of IPv6 is served where
 * the cluster has no other. Source: k3s pkg/daemons/agent/agent.go.
 */
export function loopbackServing(families: readonly Family[]): ProxyServing {
  const hosts = ["127.0.0.1", ...(families.includes("IPv4") ? [] : ["::1"])]
  const at = (port: number) => hosts.map((host) => ({ host, port }))
  return { health: at(HEALTHZ_PORT), status: at(STATUS_PORT) }
}

/**
 * Serves /healthz and /livez on one port; /proxyMode, /metrics and the health of this server itself on the other. Where
 * a port is taken, that is logged once and tried again; the proxy works without. Returns a function that closes all.
 * Source: pkg/proxy/healthcheck/proxy_health.go, cmd/kube-proxy/app/server.go serveMetrics.
 */
export function openLocalServers(parts: LocalServersParts): () => void {
  const { health, status } = parts.serving
  const [healthAnswers, statusAnswers] = [healthPages(parts), statusPages(parts)]
  const closers = [
    ...health.map((at) => keepOpen("health", at, healthAnswers, parts)),
    ...status.map((at) => keepOpen("status", at, statusAnswers, parts)),
  ]
  return () => closers.forEach((close) => close())
}

type Pages = (path: string, query: URLSearchParams) => Answer

function keepOpen(name: string, { host, port }: HostPort, pages: Pages, { clock, log }: LocalServersParts) {
  const address = joinHostPort(host, port)
  let server: OneAnswerServer | undefined
  let retry: Timer | undefined
  let hasFailed = false
  const open = () => {
    server = openOneAnswerServer({
      host,
      port,
      clock,
      answer: (question) => answerOf(question, pages),
      opened() {
        if (hasFailed) log.info("The HTTP server of kube-proxy listens now", { server: name, address })
        hasFailed = false
      },
      failed(err) {
        if (!hasFailed)
          log.warn("The HTTP server of kube-proxy cannot listen; will retry", { server: name, address, err })
        hasFailed = true
        retry = clock.setTimeout(open, RETRY_MS)
      },
    })
  }
  open()
  return () => {
    retry?.cancel()
    server?.close()
  }
}

function answerOf({ method, target }: Question, pages: Pages): Answer {
  if (method !== "GET" && method !== "HEAD")
    return { ...plainAnswer(405, "Method Not Allowed\n"), headers: { Allow: "GET, HEAD" } }
  const [path = "", query] = target.split("?", 2)
  return pages(path, new URLSearchParams(query))
}

function healthPages({ health, node, metrics }: LocalServersParts): Pages {
  const count = (page: "healthz" | "livez") =>
    metrics.counter(`${METRIC_PREFIX}proxy_${page}_total`, `Answers of /${page} by HTTP status`, "code")
  const [healthz, livez] = [count("healthz"), count("livez")]
  const answer = ({ status, report }: HealthVerdict, counts: typeof healthz): Answer => {
    counts.with(String(status)).inc()
    return { status, type: "application/json", body: JSON.stringify(report) }
  }
  return (path) => {
    if (path === "/healthz") return answer(health.healthz(node()), healthz)
    if (path === "/livez") return answer(health.livez(), livez)
    return NOT_FOUND
  }
}

/** The only check is that the server answers. */
const PING: HealthCheck = { name: "ping", problem: () => undefined }

function statusPages({ mode, metrics }: LocalServersParts): Pages {
  return (path, query) => {
    if (path === "/proxyMode") return plainAnswer(200, mode)
    if (path === "/metrics")
      // The registry has those of other components too, which the API server shows to users with the right to see them.
      return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics.text(METRIC_PREFIX) }
    if (path === "/healthz" || path === "/healthz/ping") {
      const { status, text } =
        path === "/healthz"
          ? reportAll("healthz", [PING], {
              excluded: query.getAll("exclude"),
              verbose: query.has("verbose"),
              mayKnow: () => true,
            })
          : reportOne(PING)
      return plainAnswer(status, text)
    }
    return NOT_FOUND
  }
}
