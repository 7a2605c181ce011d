/**
 * The flags of `k3ts server`, which are also the keys of the config file. Names and meanings are k3s' where it has one,
 * else kube-apiserver's. Source: k3s pkg/cli/cmds/server.go, agent.go; apiserver pkg/server/options.
 */
import { boolean, list, oneOf, value, type FlagsOf } from "../cli/flags.ts"
import { notEmpty, textThat, word } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"
import { OWN_PROVIDERS } from "../../../components/apiserver/encryption/own-providers.ts"
import { datastoreFlags } from "../datastore/flags.ts"
import { etcdFlags } from "../etcd/flags.ts"
import { snapshotFlags } from "../snapshot/flags.ts"
import { BACKENDS } from "../../../components/containerd/network/backend/backend-names.ts"
import { admissionFlags } from "./admission-flags.ts"
import { auditFlags } from "./audit-flags.ts"
import { authenticationFlags } from "./authentication-flags.ts"
import { authorityFlags } from "./authority-flags.ts"
import { authorizationFlags } from "./authorization-flags.ts"
import { controllerFlags } from "./controller-flags.ts"
import { serviceAccountFlags } from "./service-account-flags.ts"
import { tlsFlags } from "./tls-flags.ts"
import { nodeLifecycleFlags } from "./node-lifecycle-flags.ts"
import { proxyFlags } from "./proxy-flags.ts"
import { schedulerFlags } from "./scheduler-flags.ts"
import { kubeletFlags } from "./kubelet-flags.ts"
import { WITHOUT_EFFECT } from "../k3s/passed-flags.ts"
import { PARTS_OF_K3S } from "../k3s/parts.ts"
import { agentTokenFlags, joinTokenFlags } from "../token/flags.ts"

/** The parts that --disable turns off. */
export const OPTIONAL_PARTS = [
  "dns",
  "gateway",
  "ingress",
  "kube-proxy",
  "network-policy",
  "local-storage",
  "metrics-server",
  "helm-controller",
  "servicelb",
  "source-guard",
  "scheduler",
  "controller-manager",
  "manifests",
] as const
export type OptionalPart = (typeof OPTIONAL_PARTS)[number]

export const configFlag = () =>
  value(v.filePath.default("/etc/k3ts/config.yaml"), "YAML file whose keys are flags", {
    short: "c",
    variables: ["K3TS_CONFIG_FILE"],
    placeholder: "FILE",
    path: true,
  })
export const DATA_DIR = "/var/lib/k3ts"
export const dataDirFlag = () =>
  value(v.filePath.default(DATA_DIR), "Folder of the store, certificates, tokens, images and containers", {
    short: "d",
    placeholder: "DIR",
    path: true,
  })
export const bindAddressFlag = () =>
  value(v.ipAddress.optional(), "Address the API server listens on", {
    placeholder: "IP",
    defaultText: "0.0.0.0; :: in a cluster with IPv6",
  })
export const portFlag = () => value(v.port.default(6443), "Port of the API server", { placeholder: "PORT" })
export const kubeconfigFlag = () =>
  value(v.filePath.default("/etc/k3ts/k3ts.yaml"), "Where the administrator's kubeconfig is written", {
    short: "o",
    variables: ["K3TS_KUBECONFIG_OUTPUT"],
    placeholder: "FILE",
    path: true,
  })
export const runtimeFlag = () =>
  value(v.socketPathOr().optional(), "Socket of a container runtime to use instead of a containerd of our own", {
    placeholder: "SOCKET",
    path: true,
  })

/** Instead of a socket: a simulated runtime, whose containers run no programs. It needs neither root nor containerd. */
export const SIMULATED = "simulated"
const serverRuntimeFlag = () =>
  value(
    v.socketPathOr(SIMULATED).optional(),
    "Socket of a container runtime to use instead of a containerd of our own, or `simulated` for one in memory",
    { placeholder: "SOCKET", path: true },
  )

/** Flags of all commands that log. */
const logFlags = {
  debug: boolean("Log more"),
  v: value(v.count.prefault("0"), "How much is logged: from 4 on as much as with --debug", {
    short: "v",
    placeholder: "LEVEL",
    defaultText: "0",
  }),
  "log-format": oneOf(["text", "json"], "text", "How log lines are written"),
  log: value(v.filePath.optional(), "File for the log", {
    short: "l",
    placeholder: "FILE",
    path: true,
    defaultText: "standard error",
  }),
  alsologtostderr: boolean("Write the log to standard error too if it has a file"),
  "log-max-size": value(v.byteSize.prefault("100Mi"), "Size at which the log file is rotated", {
    placeholder: "SIZE",
    defaultText: "100Mi",
  }),
  "log-max-files": value(v.count.prefault("5"), "How many rotated files are kept; 0 for any number", {
    placeholder: "COUNT",
    defaultText: "5",
  }),
  "log-max-age": value(v.count.prefault("0"), "How many days rotated files are kept; 0 for ever", {
    placeholder: "DAYS",
    defaultText: "0",
  }),
}

export const serverFlags = {
  config: configFlag(),
  ...logFlags,
  "data-dir": dataDirFlag(),
  "bind-address": bindAddressFlag(),
  "https-listen-port": portFlag(),
  "advertise-address": value(v.ipAddress.optional(), "Address under which pods and others reach the API server", {
    placeholder: "IP",
    defaultText: "the node's address",
  }),
  ...joinTokenFlags,
  ...agentTokenFlags,
  "tls-san": list(v.hostOrAddress, "Further name or address for the API server's certificate", { placeholder: "NAME" }),
  "write-kubeconfig": kubeconfigFlag(),
  "write-kubeconfig-mode": value(v.fileMode.prefault("600"), "Mode of the administrator's kubeconfig", {
    variables: ["K3TS_KUBECONFIG_MODE"],
    placeholder: "MODE",
    defaultText: "600",
  }),
  ...auditFlags,
  ...admissionFlags,
  profiling: boolean(
    "Serve profiles of this program below /debug/pprof, to administrators",
    { defaultText: "true" },
    true,
  ),
  "tracing-config-file": value(
    v.fileToRead.optional(),
    "File with a TracingConfiguration: where traces are sent by OTLP, and of how many requests; OTEL_* variables do too",
    { placeholder: "FILE", path: true },
  ),
  "history-age": value(v.historyAge.prefault("24h"), "How long earlier states of objects are kept; 0 for none", {
    placeholder: "TIME",
    defaultText: "24h",
  }),
  "history-size": value(v.byteSize.optional(), "Largest size of earlier states of objects on disk", {
    placeholder: "SIZE",
    defaultText: "512Mi, at most a twentieth of the disk",
  }),
  "event-ttl": value(v.eventTtl.prefault("1h"), "How long Events are kept after they were last seen; 0s for ever", {
    placeholder: "DURATION",
    defaultText: "1h",
  }),
  ...authenticationFlags,
  ...authorizationFlags,
  ...authorityFlags,
  ...serviceAccountFlags,
  ...tlsFlags,
  ...datastoreFlags,
  ...etcdFlags,
  ...snapshotFlags,
  "accept-data-loss": boolean("Start although acknowledged writes, or the whole database, are missing"),
  "secrets-encryption": boolean("Encrypt Secrets on the disk, with keys that k3ts makes"),
  "secrets-encryption-provider": oneOf(OWN_PROVIDERS, "secretbox", "How Secrets are encrypted, from the next key on"),
  "encryption-provider-config": value(
    v.fileToRead.optional(),
    "File with an EncryptionConfiguration: what is encrypted on the disk, and how",
    { placeholder: "FILE", path: true },
  ),
  "encryption-provider-config-automatic-reload": boolean(
    "Apply changes of the EncryptionConfiguration without a restart",
  ),
  "request-timeout": value(v.duration.prefault("60s"), "Longest time for a request that is no watch or stream", {
    placeholder: "DURATION",
    defaultText: "60s",
  }),
  "shutdown-delay-duration": value(
    v.duration.optional(),
    "How long a server that stops accepts new connections, while its readiness check fails",
    { placeholder: "DURATION", defaultText: "1s with a shared store, otherwise 0s" },
  ),
  "read-header-timeout": value(
    v.duration.prefault("32s"),
    "Longest time for a TLS handshake, and for a request's head",
    {
      placeholder: "DURATION",
      defaultText: "32s",
    },
  ),
  "idle-timeout": value(v.duration.prefault("90s"), "Longest time between two requests on a connection", {
    placeholder: "DURATION",
    defaultText: "90s",
  }),
  "enable-priority-and-fairness": boolean(
    "Divide the server's capacity among requests by FlowSchemas; else requests beyond the limits below are rejected",
    { defaultText: "true" },
    true,
  ),
  "max-requests-inflight": value(v.count.prefault("400"), "Concurrent reads; 0 for any number", {
    placeholder: "COUNT",
    defaultText: "400",
  }),
  "max-mutating-requests-inflight": value(v.count.prefault("200"), "Concurrent writes; 0 for any number", {
    placeholder: "COUNT",
    defaultText: "200",
  }),
  "cluster-cidr": list(
    v.cidr,
    "Addresses of pods: one range, or one of IPv4 and one of IPv6 with the primary family first",
    { placeholder: "CIDR" },
    ["10.42.0.0/16"],
  ),
  "service-cidr": list(
    v.cidr,
    "Addresses of Services, of the same families in the same order",
    { placeholder: "CIDR" },
    ["10.43.0.0/16"],
  ),
  "node-cidr-mask-size-ipv4": value(v.count.optional(), "Prefix length of each node's part of cluster-cidr", {
    placeholder: "BITS",
    defaultText: "24",
  }),
  "node-cidr-mask-size-ipv6": value(v.count.optional(), "Prefix length of each node's part of cluster-cidr", {
    placeholder: "BITS",
    defaultText: "64",
  }),
  ...nodeLifecycleFlags,
  ...controllerFlags,
  "service-node-port-range": value(v.portRange.prefault("30000-32767"), "Ports of Services on every node", {
    placeholder: "FIRST-LAST",
    defaultText: "30000-32767",
  }),
  "cluster-dns": list(v.ipAddress, "Address of the cluster's DNS: one of service-cidr, or one of each range", {
    placeholder: "IP",
    defaultText: "the tenth of service-cidr",
  }),
  "cluster-domain": value(v.dnsName.default("cluster.local"), "Domain of the cluster's names", {
    placeholder: "DOMAIN",
  }),
  "node-name": value(v.dnsName.optional(), "Name of this node", {
    placeholder: "NAME",
    defaultText: "the host's name",
  }),
  "node-ip": list(v.ipAddress, "Address of this node, or one of each family", {
    placeholder: "IP",
    defaultText: "those of the default routes",
  }),
  "node-external-ip": list(v.ipAddress, "Address under which the outside reaches this node, or one of each family", {
    placeholder: "IP",
    defaultText: "none",
  }),
  "flannel-backend": oneOf(
    BACKENDS,
    "vxlan",
    "How packets of pods reach other nodes; `none` if another program does that",
    {
      placeholder: "NAME",
    },
  ),
  "flannel-iface": value(v.interfaceName.optional(), "Interface by which this node and others reach each other", {
    placeholder: "NAME",
    defaultText: "that of the node's address",
  }),
  "flannel-external-ip": boolean("Reach other nodes by their external addresses"),
  "flannel-ipv6-masq": boolean(
    "Give packets of pods that leave the cluster by IPv6 the node's address",
    { defaultText: "true" },
    true,
  ),
  "egress-selector-mode": oneOf(
    ["agent", "disabled"],
    "agent",
    "How the server reaches the kubelets of agents: through the tunnels that these open, or directly",
  ),
  "node-label": list(v.label, "Label of this node", { placeholder: "KEY=VALUE" }),
  "node-taint": list(v.taint, "Taint of this node when it registers", { placeholder: "KEY=VALUE:EFFECT" }),
  "kubelet-port": value(v.portOrNone.optional(), "Port of the kubelet's own API on this node; 0 for none", {
    placeholder: "PORT",
    defaultText: "10250; none with a simulated runtime",
  }),
  ...kubeletFlags,
  "container-runtime-endpoint": serverRuntimeFlag(),
  "default-local-storage-path": value(v.filePath.optional(), "Folder of the volumes of the class local-path", {
    placeholder: "DIR",
    path: true,
    defaultText: "storage in data-dir",
  }),
  "ingress-http-port": value(v.port.default(80), "Port of this node for Ingresses", { placeholder: "PORT" }),
  "ingress-https-port": value(v.port.default(443), "Port of this node for Ingresses over TLS", { placeholder: "PORT" }),
  "ingress-access-log": value(
    v.fileOrDash.optional(),
    "File in which each request to an Ingress is logged; - for standard output",
    { placeholder: "FILE", path: true },
  ),
  "gateway-address": list(v.ipAddress, "Address of this machine that one Gateway gets for itself", {
    placeholder: "IP",
  }),
  "pause-image": value(
    textThat((text) => text !== "", "must name an image").optional(),
    "Image of the container that holds a pod's namespaces",
    { placeholder: "IMAGE", defaultText: "a built-in one" },
  ),
  "private-registry": value(
    v.filePath.default("/etc/k3ts/registries.yaml"),
    "File with mirrors, credentials and certificates of image registries",
    { placeholder: "FILE", path: true },
  ),
  "disable-default-registry-endpoint": boolean("Do not ask a registry itself for images if it has mirrors"),
  "resolv-conf": value(
    v.fileToRead.optional(),
    "File with the name servers that are asked for names outside the cluster",
    { placeholder: "FILE", path: true, defaultText: "the host's" },
  ),
  "feature-gates": value(v.featureGates.prefault(""), "Feature gates to switch on or off", {
    placeholder: "NAME=BOOL,…",
    join: (implied, given) => `${implied},${given}`,
    defaultText: "as in Kubernetes 1.36",
  }),
  ...proxyFlags,
  ...schedulerFlags,
  "disable-agent": boolean("Run no kubelet, no kube-proxy and no DNS here: only the control plane"),
  "runtime-config": list(
    notEmpty,
    "Version of the API to serve that is off by default, such as certificates.k8s.io/v1beta1=true",
    {
      placeholder: "GROUP/VERSION=BOOL",
    },
  ),
  [WITHOUT_EFFECT]: list(notEmpty, "Flag of a program of Kubernetes that means nothing here", { hidden: true }),
  disable: list(
    word(OPTIONAL_PARTS, (text) => PARTS_OF_K3S.get(text) ?? `must be one of ${OPTIONAL_PARTS.join(", ")}`),
    "Component to turn off",
    { choices: OPTIONAL_PARTS },
  ),
}
export type ServerFlags = FlagsOf<typeof serverFlags>

/** The flags that concern a node, and which `k3ts agent` has too. */
export const NODE_FLAG_NAMES = [
  "config",
  "debug",
  "v",
  "log-format",
  "log",
  "alsologtostderr",
  "log-max-size",
  "log-max-files",
  "log-max-age",
  "data-dir",
  "node-name",
  "node-ip",
  "node-external-ip",
  "node-label",
  "node-taint",
  "flannel-iface",
  "kubelet-port",
  "kubelet-arg",
  WITHOUT_EFFECT,
  "feature-gates",
  "container-runtime-endpoint",
  "default-local-storage-path",
  "pause-image",
  "private-registry",
  "disable-default-registry-endpoint",
  "resolv-conf",
  "proxy-mode",
  "nodeport-addresses",
  "conntrack-tcp-timeout-close-wait",
  "kube-proxy-healthz-bind-address",
  "kube-proxy-metrics-bind-address",
] as const satisfies readonly (keyof typeof serverFlags)[]
export type NodeFlags = Pick<ServerFlags, (typeof NODE_FLAG_NAMES)[number]>

/** Returns the most requests served at once. @throws UsageError when priority and fairness would have no seats */
export function inFlightOf(flags: ServerFlags): { readonly reads: number; readonly writes: number } {
  const [reads, writes] = [flags["max-requests-inflight"], flags["max-mutating-requests-inflight"]]
  if (flags["enable-priority-and-fairness"] && reads + writes === 0)
    throw new UsageError(
      `--max-requests-inflight ${reads} and --max-mutating-requests-inflight ${writes} must add up to something ` +
        "positive, which priority and fairness divides: raise one, or use --enable-priority-and-fairness=false",
    )
  return { reads, writes }
}
