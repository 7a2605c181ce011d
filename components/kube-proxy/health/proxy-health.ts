import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { FAMILIES, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

/**
 * Milliseconds that a change may wait for its rules before the proxy is unhealthy: twice the default of
 * --iptables-sync-period and --nftables-sync-period. Source: cmd/kube-proxy/app/server.go newProxyServer.
 */
export const HEALTH_TIMEOUT_MS = 60_000
/** The cluster autoscaler puts it on a node that it is about to delete. */
const TO_BE_DELETED_TAINT = "ToBeDeletedByClusterAutoscaler"
/** How Go writes a time that has not been set. */
const NEVER = "0001-01-01T00:00:00Z"

/** What the health of a node's proxy depends on in its Node. */
export type ProxiedNode = Pick<Node, "metadata" | "spec">

/** The body of an answer, with upstream's names in upstream's order. Times are of RFC 3339. */
export interface ProxyHealthReport {
  readonly lastUpdated: string
  readonly currentTime: string
  /** Of /healthz only. */
  readonly nodeEligible?: boolean
  readonly healthy: boolean
  /** Of the families whose rules have been written. */
  readonly status: Readonly<Partial<Record<Family, { readonly lastUpdated: string; readonly healthy: boolean }>>>
}

export interface HealthVerdict {
  readonly status: 200 | 503
  readonly report: ProxyHealthReport
}

/**
 * Whether the rules of each family follow Services in time: the time from the oldest change that the kernel does not
 * have yet is bounded. A family whose first rules are not written yet does not count. Source:
 * pkg/proxy/healthcheck/proxy_health.go.
 */
export class ProxyHealth {
  readonly #clock: Clock
  /** When the rules were last written, in milliseconds since the epoch. */
  readonly #updatedAt = new Map<Family, number>()
  /** Since when a change waits, on the monotonic clock. */
  readonly #waitingSince = new Map<Family, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes that a change waits for rules of the family. */
  queued(family: Family): void {
    if (!this.#waitingSince.has(family)) this.#waitingSince.set(family, this.#clock.monotonic())
  }

  /** Notes that the kernel has the family's rules. */
  updated(family: Family): void {
    this.#waitingSince.delete(family)
    this.#updatedAt.set(family, this.#clock.now())
  }

  /** Answers /livez: whether the proxy itself works. */
  livez(): HealthVerdict {
    return this.#verdict(true, {})
  }

  /** Answers /healthz: whether load balancers should send traffic to the node, so also whether the node stays. */
  healthz(node: ProxiedNode | undefined): HealthVerdict {
    const nodeEligible = isEligible(node)
    return this.#verdict(nodeEligible, { nodeEligible })
  }

  #verdict(isWanted: boolean, more: Pick<ProxyHealthReport, "nodeEligible">): HealthVerdict {
    const now = this.#clock.now()
    const families = FAMILIES.filter((family) => this.#updatedAt.has(family))
    const healthy = families.every((family) => this.#isInTime(family))
    const isWell = healthy && isWanted
    const last = largest(this.#updatedAt.values())
    const report: ProxyHealthReport = {
      // A healthy proxy has the rules of now, even where nothing has changed for a long time.
      lastUpdated: isWell ? timeText(now) : last === -Infinity ? NEVER : timeText(last),
      currentTime: timeText(now),
      ...more,
      healthy,
      status: Object.fromEntries(
        families.map((family) => [
          family,
          { lastUpdated: timeText(this.#updatedAt.get(family)!), healthy: this.#isInTime(family) },
        ]),
      ),
    }
    return { status: isWell ? 200 : 503, report }
  }

  #isInTime(family: Family): boolean {
    const since = this.#waitingSince.get(family)
    return since === undefined || this.#clock.monotonic() - since < HEALTH_TIMEOUT_MS
  }
}

/** Whether the node is there and nobody is about to delete it. */
const isEligible = (node: ProxiedNode | undefined): boolean =>
  node !== undefined &&
  node.metadata.deletionTimestamp === undefined &&
  !(node.spec.taints ?? []).some(({ key }) => key === TO_BE_DELETED_TAINT)

const timeText = (ms: number): string => new Date(ms).toISOString()
