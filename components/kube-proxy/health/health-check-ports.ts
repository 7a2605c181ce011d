import { networkInterfaces } from "node:os"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { contains, parseAddress, parseNetwork, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import type { SeriesRecorder } from "../../../pkg/controller/event-series.ts"
import type { ServicePort } from "../service-ports.ts"
import { openOneAnswerServer, type Answer, type OneAnswerServer } from "./one-answer-server.ts"

export interface HealthCheckPortsParts {
  readonly family: Family
  readonly nodeName: string
  /** The ranges of this node's addresses at which the ports are served; without any, at all addresses. */
  readonly nodePortCidrs: readonly string[]
  readonly clock: Clock
  readonly informers: Informers
  readonly events: Pick<SeriesRecorder, "event">
  /** Returns whether the rules in the kernel are up to date. */
  isHealthy(): boolean
}

/** The open health check port of one Service. */
interface Check {
  readonly port: number
  /** One for each address. */
  readonly servers: readonly OneAnswerServer[]
  /** The number of the Service's ready endpoints on this node. */
  endpoints: number
}

/**
 * Serves the health check node ports of Services with `externalTrafficPolicy: Local`, which load balancers outside the
 * cluster query: 200 while an endpoint on this node is ready and the rules are up to date, else 503. A port that is in
 * use is reported in an Event of the Service, and tried again when the Service changes. Source:
 * pkg/proxy/healthcheck/service_health.go.
 */
export class HealthCheckPorts {
  readonly #parts: HealthCheckPortsParts
  readonly #checks = new Map<string, Check>()
  #stopped = false

  constructor(parts: HealthCheckPortsParts) {
    this.#parts = parts
  }

  /**
   * Opens, updates or closes the port of a Service. `key` is `<namespace>/<name>`; `ports` is empty when the Service is
   * gone.
   */
  update(key: string, ports: readonly ServicePort[]): void {
    const port = ports.find(({ healthCheckNodePort = 0 }) => healthCheckNodePort > 0)?.healthCheckNodePort
    const current = this.#checks.get(key)
    if (current !== undefined && current.port !== port) this.#close(key, current)
    if (port === undefined || this.#stopped) return
    const endpoints = new Set(ports.flatMap(({ readyHere }) => readyHere)).size
    const check = this.#checks.get(key)
    if (check !== undefined) check.endpoints = endpoints
    else this.#open(key, port, endpoints)
  }

  stop(): void {
    this.#stopped = true
    for (const [key, check] of this.#checks) this.#close(key, check)
  }

  #open(key: string, port: number, endpoints: number): void {
    const { family, clock, isHealthy } = this.#parts
    const servers: OneAnswerServer[] = []
    const check: Check = { port, servers, endpoints }
    this.#checks.set(key, check)
    for (const host of listenAddresses(this.#parts))
      servers.push(
        openOneAnswerServer({
          host,
          port,
          ipv6Only: family === "IPv6",
          clock,
          // As upstream, every path gets the same answer.
          answer: () => answerOf(key, check.endpoints, isHealthy()),
          failed: (err) => {
            this.#close(key, check)
            this.#tell(key, port, err.message)
          },
        }),
      )
  }

  #close(key: string, { servers }: Check): void {
    this.#checks.delete(key)
    for (const server of servers) server.close()
  }

  #tell(key: string, port: number, reason: string): void {
    const { informers, events, nodeName } = this.#parts
    const service = informers.of(Service).get(key)
    const note = `node ${nodeName} failed to start healthcheck ${JSON.stringify(key)} on port ${port}: ${reason}`
    // Differs from upstream: the reference has the Service's UID, so that `kubectl describe` finds the Event.
    if (service !== undefined)
      events.event(service, "Warning", "FailedToStartServiceHealthcheck", { action: "Listen", note })
  }
}

/** Returns the addresses of this machine in the ranges, or the address that stands for all. */
function listenAddresses({ family, nodePortCidrs }: HealthCheckPortsParts): readonly string[] {
  if (nodePortCidrs.length === 0) return [family === "IPv6" ? "::" : "0.0.0.0"]
  const ranges = nodePortCidrs.flatMap((cidr) => parseNetwork(cidr) ?? [])
  const own = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address))
  return [...new Set(own)].filter((text) => {
    const address = parseAddress(text)
    return address !== undefined && ranges.some((range) => contains(range, address))
  })
}

function answerOf(key: string, localEndpoints: number, serviceProxyHealthy: boolean): Answer {
  const [namespace, name] = key.split("/")
  return {
    status: localEndpoints > 0 && serviceProxyHealthy ? 200 : 503,
    type: "application/json",
    headers: { "X-Load-Balancing-Endpoint-Weight": String(localEndpoints) },
    body: JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy }, undefined, "\t"),
  }
}
