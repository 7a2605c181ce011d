import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"

/** 1 ms to 16 s, each twice the one before. */
const SYNC_BUCKETS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i)
const steps = (start: number, width: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => start + i * width)
const PROGRAMMING_BUCKETS = [...steps(0.25, 0.25, 2), ...steps(1, 1, 59), ...steps(60, 5, 12), ...steps(120, 30, 7)]

/** All metrics of kube-proxy begin with it. */
export const METRIC_PREFIX = "kubeproxy_"
const name = (rest: string) => `${METRIC_PREFIX}${rest}`
const counter = (registry: Registry, family: Family, rest: string, help: string) =>
  registry.counter(name(rest), help, "ip_family").with(family)

/**
 * Metrics of every mode for one family, with upstream's names. Times are in seconds. Source:
 * pkg/proxy/metrics/metrics.go.
 */
export function proxyMetrics(registry: Registry, family: Family) {
  const histogram = (rest: string, help: string, buckets = SYNC_BUCKETS) =>
    registry.histogram(name(rest), help, buckets, "ip_family").with(family)
  const gauge = (rest: string, help: string) => registry.gauge(name(rest), help, "ip_family").with(family)
  const noLocalEndpoints = registry.gauge(
    name("sync_proxy_rules_no_local_endpoints_total"),
    "Service ports whose traffic policy is Local and that have no endpoint on this node",
    "traffic_policy",
    "ip_family",
  )
  return {
    programming: histogram(
      "network_programming_duration_seconds",
      "Seconds from the change of a Service or pod until the rules that follow from it are in the kernel",
      PROGRAMMING_BUCKETS,
    ),
    sync: histogram("sync_proxy_rules_duration_seconds", "Seconds that a synchronisation of the rules took"),
    fullSync: histogram("sync_full_proxy_rules_duration_seconds", "Seconds that a synchronisation of all rules took"),
    partialSync: histogram(
      "sync_partial_proxy_rules_duration_seconds",
      "Seconds that a synchronisation of changed rules took",
    ),
    lastSync: gauge("sync_proxy_rules_last_timestamp_seconds", "When the rules were last synchronised with success"),
    lastQueued: gauge(
      "sync_proxy_rules_last_queued_timestamp_seconds",
      "When a synchronisation of the rules was last asked for",
    ),
    endpointChanges: registry
      .counter(name("sync_proxy_rules_endpoint_changes_total"), "Changes of endpoints that were seen")
      .with(),
    endpointChangesPending: registry
      .gauge(
        name("sync_proxy_rules_endpoint_changes_pending"),
        "Changes of endpoints that no synchronisation has taken up",
      )
      .with(),
    serviceChanges: registry
      .counter(name("sync_proxy_rules_service_changes_total"), "Changes of Services that were seen")
      .with(),
    serviceChangesPending: registry
      .gauge(
        name("sync_proxy_rules_service_changes_pending"),
        "Changes of Services that no synchronisation has taken up",
      )
      .with(),
    noLocalEndpoints: {
      internal: noLocalEndpoints.with("internal", family),
      external: noLocalEndpoints.with("external", family),
    },
    conntrackSync: histogram(
      "conntrack_reconciler_sync_duration_seconds",
      "Seconds that it took to have the kernel forget connections that lead nowhere any more",
    ),
    conntrackDeleted: counter(
      registry,
      family,
      "conntrack_reconciler_deleted_entries_total",
      "Connections that the kernel was made to forget",
    ),
  }
}
export type ProxyMetrics = ReturnType<typeof proxyMetrics>

/** Metrics of the iptables mode. */
export function iptablesMetrics(registry: Registry, family: Family) {
  const perTable = (rest: string, help: string) => {
    const each = registry.gauge(name(rest), help, "table", "ip_family")
    return { nat: each.with("nat", family), filter: each.with("filter", family) }
  }
  return {
    rules: perTable("sync_proxy_rules_iptables_total", "iptables rules that are kube-proxy's"),
    rulesWritten: perTable("sync_proxy_rules_iptables_last", "iptables rules that the last synchronisation wrote"),
    restoreFailures: counter(
      registry,
      family,
      "sync_proxy_rules_iptables_restore_failures_total",
      "Times that iptables-restore refused the rules",
    ),
    partialRestoreFailures: counter(
      registry,
      family,
      "sync_proxy_rules_iptables_partial_restore_failures_total",
      "Times that iptables-restore refused changed rules, so that all were written again",
    ),
  }
}

/** Metrics of the nftables mode. */
export const nftablesMetrics = (registry: Registry, family: Family) => ({
  syncFailures: counter(
    registry,
    family,
    "sync_proxy_rules_nftables_sync_failures_total",
    "Times that nft refused a transaction",
  ),
  cleanupFailures: counter(
    registry,
    family,
    "sync_proxy_rules_nftables_cleanup_failures_total",
    "Times that unused chains could not be removed",
  ),
})
