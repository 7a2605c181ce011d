/**
 * What becomes of the flags of Kubernetes' kubelet that are no settings here; those that are stand in
 * config/kubelet-args.ts. Source: cmd/kubelet/app/options.
 */
import { LOG_FLAGS, PROFILE_FLAGS, VERSION_FLAGS } from "./component-args.ts"
import { holds, idle, refused, renamed, type UpstreamFlags } from "./upstream-arg.ts"

const NOT_ENFORCED = "what is reserved is kept from the scheduler, not enforced by a cgroup: bound pods by their limits"
const ONE_PORT = "the kubelet listens on all addresses of the node, at --kubelet-port, with TLS"

export const KUBELET_FLAGS: UpstreamFlags = {
  ...LOG_FLAGS,
  ...VERSION_FLAGS,
  ...PROFILE_FLAGS,
  ...renamed({
    "cluster-dns": "cluster-dns",
    "cluster-domain": "cluster-domain",
    "container-runtime-endpoint": "container-runtime-endpoint",
    "feature-gates": "feature-gates",
    "hostname-override": "node-name",
    "node-ip": "node-ip",
    "node-labels": "node-label",
    "pod-infra-container-image": "pause-image",
    port: "kubelet-port",
    "register-with-taints": "node-taint",
    "resolv-conf": "resolv-conf",
    v: "v",
  }),
  ...idle("it is that of containerd, or of systemd where that runs", ["cgroup-driver", "cgroup-root"]),
  ...holds(["none", ""], NOT_ENFORCED, ["enforce-node-allocatable"]),
  ...refused(NOT_ENFORCED, [
    "experimental-allocatable-ignore-eviction",
    "kube-reserved-cgroup",
    "qos-reserved",
    "system-cgroups",
    "system-reserved-cgroup",
  ]),
  ...idle("nodes with swap are accepted", ["fail-swap-on"]),
  ...holds(["0", "0s"], "images are removed when the disk is used as far as image-gc-high-threshold says", [
    "image-gc-max-age",
    "image-maximum-gc-age",
  ]),
  ...idle("certificates are renewed by themselves", ["rotate-certificates", "rotate-server-certificates"]),
  ...refused("the certificates are made and renewed by k3ts, below the data directory", [
    "bootstrap-kubeconfig",
    "cert-dir",
    "client-ca-file",
    "tls-cert-file",
    "tls-private-key-file",
  ]),
  ...refused("TLS is served with the curves of the program's TLS library", ["tls-curve-preferences"]),
  ...idle("the kubelet is a part of k3ts and reaches the API server by itself", [
    "kube-api-burst",
    "kube-api-content-type",
    "kube-api-qps",
    "kubeconfig",
  ]),
  ...holds(["0.0.0.0", "::"], ONE_PORT, ["address"]),
  ...holds(["0"], ONE_PORT, ["healthz-port", "read-only-port"]),
  ...refused(ONE_PORT, ["healthz-bind-address"]),
  ...holds(["false"], "requests without credentials are refused", ["anonymous-auth"]),
  ...holds(["Webhook"], "the API server says who may ask the kubelet", ["authorization-mode"]),
  ...idle("the API server says who may ask the kubelet", [
    "authentication-token-webhook",
    "authentication-token-webhook-cache-ttl",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
  ]),
  ...holds(["true"], "logs, exec and the like need it", ["enable-debugging-handlers", "enable-server"]),
  ...holds(["true"], "nodes register themselves", ["register-node"]),
  ...holds(["true"], "volumes are attached by a controller", ["enable-controller-attach-detach"]),
  ...holds(["true"], "the limit of ephemeral storage is enforced", ["local-storage-capacity-isolation"]),
  ...holds(["true"], "pods are in cgroups by their class of service", ["cgroups-per-qos"]),
  ...holds(["true"], "limits of processors are enforced", ["cpu-cfs-quota"]),
  ...holds(["100ms", "0.1s"], "the period is 100 ms", ["cpu-cfs-quota-period"]),
  ...holds(["none"], "processors and memory are not given to one container alone", [
    "cpu-manager-policy",
    "memory-manager-policy",
    "topology-manager-policy",
  ]),
  ...holds(["None"], "processors and memory are not given to one container alone", ["memory-manager-policy"]),
  ...refused("processors and memory are not given to one container alone", [
    "cpu-manager-policy-options",
    "cpu-manager-reconcile-period",
    "reserved-cpus",
    "reserved-memory",
    "topology-manager-policy-options",
    "topology-manager-scope",
  ]),
  ...refused("credentials for images come from --private-registry and imagePullSecrets", [
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
  ]),
  ...refused("containers and images have one runtime: see --container-runtime-endpoint", [
    "image-service-endpoint",
    "runtime-cgroups",
    "runtime-request-timeout",
  ]),
  ...refused("manifests are read from a folder: see pod-manifest-path", ["manifest-url", "manifest-url-header"]),
  ...idle("files of manifests are read when they change", ["file-check-frequency", "http-check-frequency"]),
  ...idle("Events are combined, and no more than the API server takes", ["event-burst", "event-qps"]),
  ...idle("pulls are bounded by max-parallel-image-pulls", ["registry-burst", "registry-qps"]),
  ...idle("stopped containers are removed with their pods, but for the last of each", [
    "maximum-dead-containers",
    "maximum-dead-containers-per-container",
    "minimum-container-ttl-duration",
  ]),
  ...idle("it is for a cloud, of which there is none here", ["cloud-provider", "provider-id"]),
  ...refused("nodes get ranges of --cluster-cidr", ["pod-cidr"]),
  ...refused("files of pods are below the data directory: see --data-dir", ["volume-plugin-dir"]),
  ...refused("the kubelet is in the process of k3ts; the service manager sets it for that", [
    "kubelet-cgroups",
    "max-open-files",
    "oom-score-adj",
  ]),
  ...refused("one program at a time has a data directory", ["exit-on-lock-contention", "lock-file", "runonce"]),
  ...idle("the kernel's settings are those that containers need", [
    "make-iptables-util-chains",
    "protect-kernel-defaults",
  ]),
  ...idle("a pod reaches itself through its Services", ["hairpin-mode"]),
  ...idle("usage of memory is measured every ten seconds", ["kernel-memcg-notification", "volume-stats-agg-period"]),
  ...idle("a Node names its 50 largest images", ["node-status-max-images"]),
  ...idle("streams last as long as their clients like", ["streaming-connection-idle-timeout"]),
  ...idle("both versions of cgroups are taken", ["fail-cgroupv1"]),
  ...refused("volumes are mounted by the system's own program", ["experimental-mounter-path"]),
  ...refused("it is for Windows", ["windows-priorityclass", "windows-service"]),
}
