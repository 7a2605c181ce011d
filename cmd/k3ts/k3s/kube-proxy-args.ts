/** What becomes of the flags of Kubernetes' kube-proxy in `--kube-proxy-arg`. Source: cmd/kube-proxy/app/options.go. */
import type { serverFlags } from "../config/server-flags.ts"

/** The flags of k3ts that do the same. */
export const KUBE_PROXY_FLAGS: Readonly<Record<string, keyof typeof serverFlags>> = {
  "cluster-cidr": "cluster-cidr",
  "feature-gates": "feature-gates",
  "healthz-bind-address": "kube-proxy-healthz-bind-address",
  "hostname-override": "node-name",
  "metrics-bind-address": "kube-proxy-metrics-bind-address",
  "nodeport-addresses": "nodeport-addresses",
  "proxy-mode": "proxy-mode",
  v: "v",
}

const answers = (names: readonly string[], answer: string): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, answer]))

/** What k3ts does where an upstream kube-proxy has a flag and k3ts has none. */
export const KUBE_PROXY_ANSWERS: Readonly<Record<string, string>> = {
  ...answers(["config", "write-config-to"], "there is no file of settings: give each as --kube-proxy-arg"),
  ...answers(
    ["kubeconfig", "master", "kube-api-burst", "kube-api-content-type", "kube-api-qps"],
    "kube-proxy is a part of k3ts and reaches the API server by itself",
  ),
  ...answers(["healthz-port"], "use healthz-bind-address=ADDRESS:PORT, or healthz-bind-address=none"),
  ...answers(["metrics-port"], "use metrics-bind-address=ADDRESS:PORT, or metrics-bind-address=none"),
  ...answers(["bind-address"], "the address of the node is that of --node-ip"),
  ...answers(["bind-address-hard-fail"], "where a port is taken, it is tried again every five seconds"),
  ...answers(["cleanup", "init-only"], "`k3ts killall` removes the rules"),
  ...answers(
    ["iptables-sync-period", "iptables-min-sync-period", "config-sync-period"],
    "each change is written at once, and rules that another program has removed within 30 seconds",
  ),
  ...answers(
    [
      "ipvs-exclude-cidrs",
      "ipvs-min-sync-period",
      "ipvs-scheduler",
      "ipvs-strict-arp",
      "ipvs-sync-period",
      "ipvs-tcp-timeout",
      "ipvs-tcpfin-timeout",
      "ipvs-udp-timeout",
    ],
    "there is no mode ipvs: proxy-mode is nftables or iptables",
  ),
  ...answers(
    ["detect-local-mode", "pod-bridge-interface", "pod-interface-name-prefix"],
    "packets of pods are recognized by the addresses of --cluster-cidr",
  ),
  ...answers(
    ["masquerade-all"],
    "only packets that need it are masqueraded: those to Services from outside of the pods",
  ),
  ...answers(["iptables-masquerade-bit"], "the mark of packets to masquerade is 0x4000"),
  ...answers(["iptables-localhost-nodeports"], "node ports are served on loopback with IPv4; see --nodeport-addresses"),
  ...answers(
    [
      "conntrack-max-per-core",
      "conntrack-min",
      "conntrack-tcp-be-liberal",
      "conntrack-tcp-timeout-close-wait",
      "conntrack-tcp-timeout-established",
      "conntrack-udp-timeout",
      "conntrack-udp-timeout-stream",
    ],
    "the kernel's limits of connections are left as they are: set net.netfilter.nf_conntrack_… in /etc/sysctl.d",
  ),
  ...answers(["oom-score-adj"], "kube-proxy is in the process of k3ts; the service manager sets it for that"),
  ...answers(["profiling"], "profiles are those of the whole process, at /debug/pprof of the API server"),
  ...answers(["show-hidden-metrics-for-version"], "no metrics are hidden"),
}
