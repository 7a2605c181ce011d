/** What becomes of the flags of Kubernetes' kube-proxy. Source: cmd/kube-proxy/app/options.go. */
import { CLIENT_FLAGS, LOG_FLAGS, METRICS_FLAGS, PROFILE_FLAGS, VERSION_FLAGS } from "./component-args.ts"
import { holds, idle, refused, renamed, same, type UpstreamFlags } from "./upstream-arg.ts"

export const KUBE_PROXY_FLAGS: UpstreamFlags = {
  ...LOG_FLAGS,
  ...METRICS_FLAGS,
  ...VERSION_FLAGS,
  ...PROFILE_FLAGS,
  ...same(["cluster-cidr", "conntrack-tcp-timeout-close-wait", "feature-gates", "nodeport-addresses", "proxy-mode"]),
  ...renamed({
    "healthz-bind-address": "kube-proxy-healthz-bind-address",
    "hostname-override": "node-name",
    "metrics-bind-address": "kube-proxy-metrics-bind-address",
  }),
  ...refused("there is no file of settings: give each as --kube-proxy-arg", ["config", "write-config-to"]),
  ...idle("kube-proxy is a part of k3ts and reaches the API server by itself", CLIENT_FLAGS),
  ...refused("use healthz-bind-address=ADDRESS:PORT, or healthz-bind-address=none", ["healthz-port"]),
  ...refused("use metrics-bind-address=ADDRESS:PORT, or metrics-bind-address=none", ["metrics-port"]),
  ...holds(["0.0.0.0", "::"], "the address of the node is that of --node-ip", ["bind-address"]),
  ...idle("where a port is taken, it is tried again every five seconds", ["bind-address-hard-fail"]),
  ...refused("`k3ts killall` removes the rules", ["cleanup", "init-only"]),
  ...idle("each change is written at once, and rules that another program has removed within 30 seconds", [
    "config-sync-period",
    "iptables-min-sync-period",
    "iptables-sync-period",
  ]),
  ...refused("there is no mode ipvs: proxy-mode is nftables or iptables", [
    "ipvs-exclude-cidrs",
    "ipvs-min-sync-period",
    "ipvs-scheduler",
    "ipvs-strict-arp",
    "ipvs-sync-period",
    "ipvs-tcp-timeout",
    "ipvs-tcpfin-timeout",
    "ipvs-udp-timeout",
  ]),
  ...refused("packets of pods are recognized by the addresses of --cluster-cidr", [
    "detect-local-mode",
    "pod-bridge-interface",
    "pod-interface-name-prefix",
  ]),
  ...holds(["false"], "only packets that need it are masqueraded: those to Services from outside of the pods", [
    "masquerade-all",
  ]),
  ...refused("the mark of packets to masquerade is 0x4000", ["iptables-masquerade-bit"]),
  ...refused("node ports are served on loopback with IPv4; see --nodeport-addresses", ["iptables-localhost-nodeports"]),
  ...holds(
    ["0", "0s", "false"],
    "the kernel's other limits of connections are left as they are: set net.netfilter.nf_conntrack_… in /etc/sysctl.d",
    [
      "conntrack-max-per-core",
      "conntrack-min",
      "conntrack-tcp-be-liberal",
      "conntrack-tcp-timeout-established",
      "conntrack-udp-timeout",
      "conntrack-udp-timeout-stream",
    ],
  ),
  ...refused("kube-proxy is in the process of k3ts; the service manager sets it for that", ["oom-score-adj"]),
  ...refused("it is for Windows", [
    "enable-dsr",
    "forward-healthcheck-vip",
    "network-name",
    "root-hnsendpoint-name",
    "source-vip",
    "windows-service",
  ]),
}
