import { describe, expect, test } from "bun:test"
import { resolveFlags, splitArguments } from "../cli/parse.ts"
import { UsageError } from "../cli/usage-error.ts"
import { serverFlags, type ServerFlags } from "../config/server-flags.ts"
import { serverVocabulary } from "../config/server-vocabulary.ts"
import { k3sFlags } from "./flags.ts"

const read = (...argv: readonly string[]): ServerFlags =>
  resolveFlags(serverFlags, {
    written: splitArguments([...argv], serverFlags, k3sFlags),
    env: { K3TS_CONFIG: "/dev/null" },
    config: serverVocabulary,
  })

describe("a flag of k3s that k3ts has in another form", () => {
  test.each<{ title: string; argv: string[]; flag: keyof ServerFlags; wants: unknown }>([
    { title: "disables a component", argv: ["--disable-network-policy"], flag: "disable", wants: ["network-policy"] },
    {
      title: "adds to the disabled components",
      argv: ["--disable", "dns", "--disable-kube-proxy", "--disable-scheduler=true"],
      flag: "disable",
      wants: ["dns", "kube-proxy", "scheduler"],
    },
    {
      title: "disables a component, however true is written",
      argv: ["--disable-kube-proxy=True"],
      flag: "disable",
      wants: ["kube-proxy"],
    },
    {
      title: "disables nothing when its value is false",
      argv: ["--disable-kube-proxy=false"],
      flag: "disable",
      wants: [],
    },
    {
      title: "passes the rate of evictions",
      argv: ["--kube-controller-manager-arg=node-eviction-rate=0.5"],
      flag: "node-eviction-rate",
      wants: 0.5,
    },
    {
      title: "passes the time after which a node counts as lost",
      argv: ["--kube-controller-manager-arg=node-monitor-grace-period=20s"],
      flag: "node-monitor-grace-period",
      wants: 20,
    },
    {
      title: "passes a setting to kube-proxy",
      argv: ["--kube-proxy-arg=proxy-mode=iptables"],
      flag: "proxy-mode",
      wants: "iptables",
    },
    {
      title: "passes an address of kube-proxy, with its usual port",
      argv: ["--kube-proxy-arg=healthz-bind-address=0.0.0.0"],
      flag: "kube-proxy-healthz-bind-address",
      wants: { host: "0.0.0.0", port: 10256 },
    },
    {
      title: "passes an address of IPv6 and a port of kube-proxy",
      argv: ["--kube-proxy-arg=metrics-bind-address=[::]:9249"],
      flag: "kube-proxy-metrics-bind-address",
      wants: { host: "::", port: 9249 },
    },
    {
      title: "passes that kube-proxy serves no metrics",
      argv: ["--kube-proxy-arg=metrics-bind-address="],
      flag: "kube-proxy-metrics-bind-address",
      wants: "none",
    },
    {
      title: "passes how long connections are kept that one side has closed",
      argv: ["--kube-proxy-arg=conntrack-tcp-timeout-close-wait=1h30m0s"],
      flag: "conntrack-tcp-timeout-close-wait",
      wants: 5400,
    },
    {
      title: "passes that the kernel's own time for connections that one side has closed stays",
      argv: ["--kube-proxy-arg=conntrack-tcp-timeout-close-wait=0"],
      flag: "conntrack-tcp-timeout-close-wait",
      wants: 0,
    },
    {
      title: "passes a setting to the API server's flag of another name",
      argv: ["--kube-apiserver-arg=--service-cluster-ip-range=10.99.0.0/16"],
      flag: "service-cidr",
      wants: ["10.99.0.0/16"],
    },
    {
      title: "passes the time to live of Events, written as a Go duration",
      argv: ["--kube-apiserver-arg=event-ttl=1h0m0s"],
      flag: "event-ttl",
      wants: 3600,
    },
    {
      title: "passes a setting without a value, which means true",
      argv: ["--kube-apiserver-arg", "enable-priority-and-fairness"],
      flag: "enable-priority-and-fairness",
      wants: true,
    },
    {
      title: "with the prefix etcd is the flag without the prefix",
      argv: ["--etcd-snapshot-name=daily"],
      flag: "snapshot-name",
      wants: "daily",
    },
  ])("$title", ({ argv, flag, wants }) => expect(read(...argv)[flag]).toEqual(wants as never))
})

describe("a flag of k3s that k3ts does not have gets an error that says why", () => {
  const answer = (argv: readonly string[]): string => {
    try {
      read(...argv)
    } catch (err) {
      expect(err).toBeInstanceOf(UsageError)
      return (err as Error).message
    }
    throw new Error("was taken")
  }
  test.each<{ argv: string[]; wants: string }>([
    {
      argv: ["--disable-etcd"],
      wants:
        "--disable-etcd is a flag of k3s: every server has an API server, and an etcd with --cluster-init or --server; " +
        "leave the flag out",
    },
    {
      argv: ["--flannel-cni-conf=/etc/cni.json"],
      wants:
        "--flannel-cni-conf is a flag of k3s: the pod network has no files to configure; leave the flag out. For " +
        "another CNI plugin run a containerd that has it, and name its socket with --container-runtime-endpoint",
    },
    {
      argv: ["--flannel-backend=ipsec"],
      wants: 'invalid value "ipsec" for --flannel-backend: must be vxlan or host-gw or wireguard-native or none',
    },
    {
      argv: ["--etcd-arg", "quota-backend-bytes=1"],
      wants:
        "--etcd-arg is a flag of k3s: the etcd of a server has fixed settings; run one of your own with " +
        "--datastore-endpoint",
    },
    {
      argv: ["--kube-proxy-arg", "proxy-mod=iptables"],
      wants: 'kube-proxy of Kubernetes 1.36 has no flag "proxy-mod"; did you mean proxy-mode?',
    },
    {
      argv: ["--kube-proxy-arg", "conntrack-min=131072"],
      wants:
        'k3ts has no "conntrack-min" of kube-proxy: the kernel\'s other limits of connections are left as they are: set ' +
        "net.netfilter.nf_conntrack_… in /etc/sysctl.d; only 0 and 0s and false can be given",
    },
    {
      argv: ["--kube-proxy-healthz-bind-address", "localhost:10256"],
      wants:
        'invalid value "localhost:10256" for --kube-proxy-healthz-bind-address: must be an address, and a port if ' +
        "need be, as in 0.0.0.0:10256 or [::]:10256, or none",
    },
    {
      argv: ["--kube-scheduler-arg", "write-config-to=/tmp/a"],
      wants:
        'k3ts has no "write-config-to" of kube-scheduler: give a file with --scheduler-config, which holds what the ' +
        "program would write",
    },
    {
      argv: ["--kube-apiserver-arg", "allow-privileged=false"],
      wants:
        'k3ts has no "allow-privileged" of kube-apiserver: privileged pods are allowed: refuse them by PodSecurity; ' +
        "only true can be given",
    },
    {
      argv: ["--disable-network-policy=off"],
      wants: 'invalid value "off" for disable-network-policy: must be true or false',
    },
    { argv: ["--kube-proxy-arg"], wants: "--kube-proxy-arg needs a value: --kube-proxy-arg VALUE" },
  ])("%j", ({ argv, wants }) => expect(answer(argv)).toBe(wants))

  test("no flag is both known to k3ts and refused as a flag of k3s", () => {
    expect(Object.keys(k3sFlags).filter((name) => name in serverFlags)).toEqual([])
  })
})
