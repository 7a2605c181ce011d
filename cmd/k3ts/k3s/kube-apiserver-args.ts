/** What becomes of the flags of Kubernetes' kube-apiserver. Source: cmd/kube-apiserver/app/options, apiserver pkg/server/options. */
import { COMPATIBILITY_FLAGS, LOG_FLAGS, METRICS_FLAGS, VERSION_FLAGS } from "./component-args.ts"
import { holds, idle, refused, renamed, same, type UpstreamFlags } from "./upstream-arg.ts"

const BACKEND = [
  "mode",
  "batch-buffer-size",
  "batch-max-size",
  "batch-max-wait",
  "batch-throttle-enable",
  "batch-throttle-qps",
  "batch-throttle-burst",
  "truncate-enabled",
  "truncate-max-batch-size",
  "truncate-max-event-size",
  "version",
]

export const KUBE_APISERVER_FLAGS: UpstreamFlags = {
  ...LOG_FLAGS,
  ...METRICS_FLAGS,
  ...VERSION_FLAGS,
  ...COMPATIBILITY_FLAGS,
  // Auditing, admission, who signs in.
  ...same([
    ...["audit-policy-file", "audit-log-path", "audit-log-maxsize", "audit-log-maxbackup", "audit-log-maxage"],
    ...["audit-log-format", "audit-log-compress", "audit-webhook-config-file", "audit-webhook-initial-backoff"],
    ...BACKEND.flatMap((name) => [`audit-log-${name}`, `audit-webhook-${name}`]),
    ...["enable-admission-plugins", "disable-admission-plugins", "admission-control-config-file"],
    ...["default-not-ready-toleration-seconds", "default-unreachable-toleration-seconds"],
    ...["anonymous-auth", "api-audiences", "authentication-config", "token-auth-file"],
    ...["oidc-issuer-url", "oidc-client-id", "oidc-ca-file", "oidc-username-claim", "oidc-username-prefix"],
    ...["oidc-groups-claim", "oidc-groups-prefix", "oidc-required-claim", "oidc-signing-algs"],
    ...["authentication-token-webhook-config-file", "authentication-token-webhook-cache-ttl"],
    "authentication-token-webhook-version",
    ...["authorization-config", "authorization-mode", "authorization-webhook-config-file"],
    ...["authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"],
    ...["authorization-webhook-version", "client-ca-file", "requestheader-client-ca-file"],
    ...["requestheader-allowed-names", "requestheader-username-headers", "requestheader-group-headers"],
    ...["requestheader-uid-headers", "requestheader-extra-headers-prefix", "service-account-issuer"],
  ]),
  ...renamed({
    "admission-control": "enable-admission-plugins",
    "audit-webhook-batch-initial-backoff": "audit-webhook-initial-backoff",
  }),
  // Requests, addresses, storage.
  ...same([
    ...["advertise-address", "bind-address", "encryption-provider-config"],
    ...["encryption-provider-config-automatic-reload", "enable-priority-and-fairness", "event-ttl", "feature-gates"],
    ...["max-mutating-requests-inflight", "max-requests-inflight", "profiling", "request-timeout"],
    ...["service-node-port-range", "shutdown-delay-duration", "tracing-config-file"],
  ]),
  ...renamed({
    "external-hostname": "tls-san",
    "etcd-cafile": "datastore-cafile",
    "etcd-certfile": "datastore-certfile",
    "etcd-keyfile": "datastore-keyfile",
    "etcd-servers": "datastore-endpoint",
    "secure-port": "https-listen-port",
    "service-cluster-ip-range": "service-cidr",
  }),
  "runtime-config": { done: "runtime-config" },
  ...refused("there is no ABAC: use RBAC", ["authorization-policy-file"]),
  ...holds(["true"], "bootstrap tokens are known always: delete those that should not work", [
    "enable-bootstrap-token-auth",
  ]),
  ...holds(["true"], "service account tokens end with their account", ["service-account-lookup"]),
  ...holds(["true"], "garbage is collected always", ["enable-garbage-collector"]),
  ...holds(["true"], "privileged pods are allowed: refuse them by PodSecurity", ["allow-privileged"]),
  ...holds(["etcd3", ""], "where objects are kept is said by --datastore-endpoint", ["storage-backend"]),
  ...holds(["application/vnd.kubernetes.protobuf", "application/json"], "objects are stored as JSON", [
    "storage-media-type",
  ]),
  ...refused("service account tokens have the keys of the cluster", [
    "service-account-jwks-uri",
    "service-account-key-file",
    "service-account-signing-endpoint",
    "service-account-signing-key-file",
  ]),
  ...idle("tokens of pods last for an hour and are renewed by the kubelet", [
    "service-account-extend-token-expiration",
    "service-account-max-token-expiration",
  ]),
  ...refused("the certificates are made and renewed by k3ts, below the data directory", [
    "cert-dir",
    "kubelet-certificate-authority",
    "kubelet-client-certificate",
    "kubelet-client-key",
    "peer-ca-file",
    "proxy-client-cert-file",
    "proxy-client-key-file",
    "tls-cert-file",
    "tls-private-key-file",
    "tls-sni-cert-key",
  ]),
  ...refused("TLS 1.2 and 1.3 are served with the ciphers and curves of the program's TLS library", [
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
  ]),
  ...refused("the server has no such header or answer", [
    "cors-allowed-origins",
    "goaway-chance",
    "strict-transport-security-directives",
  ]),
  ...idle("history is kept for --history-age, and Events for --event-ttl, in the store itself", [
    "etcd-compaction-interval",
    "etcd-count-metric-poll-period",
    "etcd-db-metric-poll-interval",
    "etcd-healthcheck-timeout",
    "etcd-readycheck-timeout",
    "lease-reuse-duration-seconds",
    "storage-initialization-timeout",
  ]),
  ...refused("all objects are in one store, below the prefix of k3ts", ["etcd-prefix", "etcd-servers-overrides"]),
  ...idle("all live objects are in memory, and watches are served from there", [
    "default-watch-cache-size",
    "watch-cache",
    "watch-cache-sizes",
  ]),
  ...idle("the endpoints of the Service kubernetes are the servers that live", [
    "apiserver-count",
    "endpoint-reconciler-type",
  ]),
  ...refused("the Service kubernetes has no port on the nodes: the API server listens there itself", [
    "kubernetes-service-node-port",
  ]),
  ...idle("extension API servers are reached at the addresses of their Services", [
    "aggregator-reject-forwarding-redirect",
    "enable-aggregator-routing",
  ]),
  ...refused("agents are reached through the tunnels that they open: see --egress-selector-mode", [
    "egress-selector-config-file",
  ]),
  ...idle("kubelets are reached through tunnels, or at the address and port that their Nodes have", [
    "kubelet-port",
    "kubelet-preferred-address-types",
    "kubelet-read-only-port",
    "kubelet-timeout",
  ]),
  ...idle("servers that share a store forward no requests to each other", ["peer-advertise-ip", "peer-advertise-port"]),
  ...idle("of several servers one works, and another takes over within 15 seconds", [
    "coordinated-leadership-lease-duration",
    "coordinated-leadership-renew-deadline",
    "coordinated-leadership-retry-period",
  ]),
  ...idle("there is one thread, so no lock is waited for", ["contention-profiling"]),
  ...refused("profiles are at /debug/pprof of the API server", ["debug-socket-path"]),
  ...idle("the logs of a node are not served", ["enable-logs-handler"]),
  ...idle("objects of a collection are deleted in one transaction after the other", ["delete-collection-workers"]),
  ...idle("a port is shared as the system does", ["permit-address-sharing", "permit-port-sharing"]),
  ...idle("HTTP/1.1 and HTTP/2 are served on one port", ["disable-http2-serving", "http2-max-streams-per-connection"]),
  ...refused("see --read-header-timeout, --idle-timeout and --request-timeout", [
    "max-connection-bytes-per-sec",
    "min-request-timeout",
  ]),
  ...idle("a server is alive as soon as it answers", ["livez-grace-period"]),
  ...idle("requests that come while the server stops are answered, and told to go elsewhere", [
    "shutdown-send-retry-after",
    "shutdown-watch-termination-grace-period",
  ]),
  ...idle("versions of the API are those of Kubernetes 1.36", ["runtime-config-emulation-forward-compatible"]),
}
