/** Flags that all of Kubernetes' programs have. Source: component-base logs/api/v1, metrics/options.go. */
import { idle, refused, renamed, type UpstreamFlags } from "./upstream-arg.ts"

/** What the log of one program is told, which is that of the process here. */
export const LOG_FLAGS: UpstreamFlags = {
  ...renamed({ v: "v", "logging-format": "log-format" }),
  ...idle("the log is one of the whole process, and written at once: see --log and --log-format", [
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-json-split-stream",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "vmodule",
  ]),
}

export const METRICS_FLAGS: UpstreamFlags = {
  ...refused("metrics cannot be left out or cut: leave them out where they are collected", [
    "allow-metric-labels",
    "allow-metric-labels-manifest",
    "disabled-metrics",
  ]),
  ...idle("no metrics are hidden", ["show-hidden-metrics-for-version"]),
}

export const VERSION_FLAGS: UpstreamFlags = {
  ...refused("a program shows this and ends: use k3ts version and k3ts server --help", ["help", "version"]),
}

/** A component that is a part of this process needs no connection of its own. */
export const CLIENT_FLAGS = ["kube-api-burst", "kube-api-content-type", "kube-api-qps", "kubeconfig", "master"] as const

/** Which of several servers works. Source: component-base config/options/leaderelectionconfig.go. */
export const LEADER_FLAGS: UpstreamFlags = idle(
  "of several servers one works, and another takes over within 15 seconds; a server alone elects nobody",
  [
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "leader-elect-retry-period",
  ],
)

/** The port of one program, which is that of the API server here, or none. */
export const SERVING_FLAGS: UpstreamFlags = idle(
  "it listens on no port of its own: its health and metrics are those of the API server",
  [
    "bind-address",
    "cert-dir",
    "http2-max-streams-per-connection",
    "permit-address-sharing",
    "permit-port-sharing",
    "secure-port",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
    "tls-private-key-file",
    "tls-sni-cert-key",
    "disable-http2-serving",
    "authentication-kubeconfig",
    "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl",
    "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths",
    "authorization-kubeconfig",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "client-ca-file",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-uid-headers",
    "requestheader-username-headers",
  ],
)

/** Whether a program shows profiles of itself. */
export const PROFILE_FLAGS: UpstreamFlags = {
  ...idle("profiles are those of the whole process, at /debug/pprof of the API server: see --profiling", ["profiling"]),
  ...idle("there is one thread, so no lock is waited for", ["contention-profiling"]),
}

/** Which version a program behaves as. Source: component-base compatibility/registry.go. */
export const COMPATIBILITY_FLAGS: UpstreamFlags = {
  ...refused("it behaves as Kubernetes 1.36 always", [
    "emulated-version",
    "emulation-forward-compatible",
    "min-compatibility-version",
  ]),
}
