/** A metric that dashboards or rules ask for, with the labels by which they choose and sum. */
export interface AskedMetric {
  readonly name: string
  readonly labels?: readonly string[]
}

const POD = ["namespace", "pod"]
const CONTAINER = [...POD, "container"]

/**
 * The metrics that kubernetes-mixin (commit aa38e2b of 2026-08-06) asks of Kubernetes' own programs in its dashboards,
 * rules and alerts, and that k3ts has. Names of histograms are without `_bucket`, `_sum` and `_count`.
 */
export const ASKED: readonly AskedMetric[] = [
  { name: "aggregator_unavailable_apiservice", labels: ["name"] },
  { name: "aggregator_unavailable_apiservice_total", labels: ["name", "reason"] },
  { name: "apiserver_client_certificate_expiration_seconds" },
  { name: "apiserver_request_sli_duration_seconds", labels: ["resource", "scope", "subresource", "verb"] },
  { name: "apiserver_request_terminations_total" },
  { name: "apiserver_request_total", labels: ["code", "resource", "verb"] },
  { name: "container_cpu_cfs_periods_total", labels: CONTAINER },
  { name: "container_cpu_cfs_throttled_periods_total", labels: CONTAINER },
  { name: "container_cpu_usage_seconds_total", labels: [...CONTAINER, "image"] },
  { name: "container_fs_reads_bytes_total", labels: [...CONTAINER, "device"] },
  { name: "container_fs_reads_total", labels: [...CONTAINER, "device"] },
  { name: "container_fs_writes_bytes_total", labels: [...CONTAINER, "device"] },
  { name: "container_fs_writes_total", labels: [...CONTAINER, "device"] },
  { name: "container_memory_cache", labels: [...CONTAINER, "image"] },
  { name: "container_memory_rss", labels: [...CONTAINER, "image"] },
  { name: "container_memory_swap", labels: [...CONTAINER, "image"] },
  { name: "container_memory_working_set_bytes", labels: [...CONTAINER, "image"] },
  { name: "container_network_receive_bytes_total", labels: [...POD, "interface"] },
  { name: "container_network_receive_packets_dropped_total", labels: [...POD, "interface"] },
  { name: "container_network_receive_packets_total", labels: [...POD, "interface"] },
  { name: "container_network_transmit_bytes_total", labels: [...POD, "interface"] },
  { name: "container_network_transmit_packets_dropped_total", labels: [...POD, "interface"] },
  { name: "container_network_transmit_packets_total", labels: [...POD, "interface"] },
  { name: "kubelet_evictions", labels: ["eviction_signal"] },
  { name: "kubelet_node_name", labels: ["node"] },
  { name: "kubelet_pod_start_duration_seconds" },
  { name: "kubelet_pod_worker_duration_seconds", labels: ["operation_type"] },
  { name: "kubelet_running_containers" },
  { name: "kubelet_running_pods" },
  { name: "kubelet_runtime_operations_duration_seconds", labels: ["operation_type"] },
  { name: "kubelet_runtime_operations_errors_total", labels: ["operation_type"] },
  { name: "kubelet_runtime_operations_total", labels: ["operation_type"] },
  { name: "kubelet_volume_stats_available_bytes", labels: ["namespace", "persistentvolumeclaim"] },
  { name: "kubelet_volume_stats_capacity_bytes", labels: ["namespace", "persistentvolumeclaim"] },
  { name: "kubelet_volume_stats_inodes", labels: ["namespace", "persistentvolumeclaim"] },
  { name: "kubelet_volume_stats_inodes_free", labels: ["namespace", "persistentvolumeclaim"] },
  { name: "kubelet_volume_stats_inodes_used", labels: ["namespace", "persistentvolumeclaim"] },
  { name: "kubelet_volume_stats_used_bytes", labels: ["namespace", "persistentvolumeclaim"] },
  { name: "kubeproxy_network_programming_duration_seconds" },
  { name: "kubeproxy_sync_proxy_rules_duration_seconds" },
  { name: "kubernetes_build_info", labels: ["git_version"] },
  { name: "process_cpu_seconds_total" },
  { name: "process_resident_memory_bytes" },
  { name: "scheduler_pod_scheduling_sli_duration_seconds" },
  { name: "scheduler_scheduling_algorithm_duration_seconds" },
  { name: "scheduler_scheduling_attempt_duration_seconds" },
  { name: "workqueue_adds_total", labels: ["name"] },
  { name: "workqueue_depth", labels: ["name"] },
  { name: "workqueue_queue_duration_seconds", labels: ["name"] },
]

/** Metrics that the mixin asks for and that k3ts does not have, and why. */
export const LACKING: Readonly<Record<string, string>> = {
  go_goroutines: "k3ts is not a Go program",
  kubelet_certificate_manager_client_expiration_renew_errors: "the kubelet is in the API server's process",
  kubelet_certificate_manager_client_ttl_seconds: "the kubelet is in the API server's process",
  kubelet_certificate_manager_server_ttl_seconds: "the certificate is renewed with those of the API server",
  kubelet_cgroup_manager_duration_seconds: "cgroups are made within the calls that sync a pod",
  kubelet_node_config_error: "Kubernetes has removed it",
  kubelet_pleg_relist_duration_seconds: "the runtime tells events; containers are not listed in a loop",
  kubelet_pleg_relist_interval_seconds: "the runtime tells events; containers are not listed in a loop",
  kubelet_server_expiration_renew_errors: "the certificate is renewed with those of the API server",
  rest_client_request_duration_seconds: "components call the API server in its process, not over HTTP",
  rest_client_requests_total: "components call the API server in its process, not over HTTP",
  scheduler_volume_scheduling_duration_seconds: "Kubernetes has removed it",
  storage_operation_duration_seconds: "volumes are mounted within the calls that sync a pod",
  storage_operation_errors_total: "volumes are mounted within the calls that sync a pod",
  volume_manager_total_volumes: "no second list of volumes is kept that could differ from the first",
}
