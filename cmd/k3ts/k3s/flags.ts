/**
 * The flags of `k3s server` that k3ts does not have: what they become here, or what is told about them. Those that both
 * have are in server-flags.ts. Source: k3s pkg/cli/cmds/server.go, agent.go, log.go, config.go.
 */
import { trueOrFalse } from "../cli/flags.ts"
import type { ForeignFlag, ForeignFlags } from "../cli/foreign-flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import type { OptionalPart, serverFlags } from "../config/server-flags.ts"
import { passes } from "./passed-flags.ts"

const answers = (names: readonly string[], answer: string): ForeignFlags =>
  Object.fromEntries(names.map((name) => [name, { answer }]))

/** `--disable-scheduler`: one part of `--disable`. */
const disables = (part: OptionalPart): ForeignFlag => ({
  kind: "boolean",
  adds: true,
  becomes(value) {
    const read = trueOrFalse.read(value)
    if ("fault" in read)
      throw new UsageError(`invalid value ${JSON.stringify(value)} for disable-${part}: ${read.fault}`)
    return read.value ? [["disable", part]] : []
  },
})

/** `--etcd-snapshot-name daily`: a flag of k3ts without the word etcd. */
const withoutEtcd = (kind: "value" | "boolean", names: readonly (keyof typeof serverFlags)[]): ForeignFlags =>
  Object.fromEntries(
    names.map((name) => [`etcd-${name}`, { kind, becomes: (value) => [[name, value]] } satisfies ForeignFlag]),
  )

export const k3sFlags: ForeignFlags = {
  "disable-scheduler": disables("scheduler"),
  "disable-kube-proxy": disables("kube-proxy"),
  "disable-network-policy": disables("network-policy"),
  "disable-controller-manager": disables("controller-manager"),
  "disable-helm-controller": disables("helm-controller"),

  ...withoutEtcd("boolean", ["disable-snapshots", "snapshot-compress", "s3", "s3-insecure", "s3-skip-ssl-verify"]),
  ...withoutEtcd("value", ["snapshot-schedule-cron", "snapshot-retention", "snapshot-dir", "snapshot-name"]),
  ...withoutEtcd("value", ["s3-endpoint", "s3-endpoint-ca", "s3-access-key", "s3-bucket", "s3-region", "s3-folder"]),
  ...withoutEtcd("value", ["s3-timeout", "s3-retention"]),
  ...answers(
    ["etcd-s3-secret-key"],
    "set AWS_SECRET_ACCESS_KEY or K3TS_S3_SECRET_KEY, or s3-secret-key in the config file",
  ),
  ...answers(["etcd-s3-proxy"], "S3 is reached directly; leave the flag out"),
  ...answers(
    ["etcd-s3-config-secret"],
    "the keys of S3 are not kept in the cluster that they are to bring back: use the config file or the environment",
  ),

  "kube-apiserver-arg": passes("kube-apiserver"),
  "kube-controller-manager-arg": passes("kube-controller-manager"),
  "kube-scheduler-arg": passes("kube-scheduler"),
  "kube-proxy-arg": passes("kube-proxy"),

  ...answers(
    ["disable-etcd", "disable-apiserver"],
    "every server has an API server, and an etcd with --cluster-init or --server; leave the flag out",
  ),
  ...answers(["cluster-secret"], "use --token"),
  ...answers(["etcd-arg"], "the etcd of a server has fixed settings; run one of your own with --datastore-endpoint"),
  ...answers(["etcd-expose-metrics"], "the metrics of etcd are at http://127.0.0.1:2381/metrics of each server"),
  ...answers(["supervisor-metrics", "lb-server-port"], "there is nothing like it; leave the flag out"),
  ...answers(
    ["kine-tls"],
    "there is no kine: several servers share an etcd or a PostgreSQL, which --datastore-endpoint names; leave the flag out",
  ),
  ...answers(
    ["flannel-conf", "flannel-cni-conf"],
    "the pod network has no files to configure; leave the flag out. For another CNI plugin run a containerd that has " +
      "it, and name its socket with --container-runtime-endpoint",
  ),
  ...answers(["no-flannel"], "use --flannel-backend none"),
  ...answers(
    ["vpn-auth", "vpn-auth-file"],
    "there is no VPN in it: name the interface of one that runs with --flannel-iface, and its address with --node-ip",
  ),
  ...answers(
    ["disable-cloud-controller", "kube-cloud-controller-manager-arg"],
    "there is no cloud controller; load balancers are served by the part `servicelb` of --disable",
  ),
  ...answers(["helm-job-image"], "charts are installed by k3ts itself, without a Job: leave the flag out"),
  ...answers(
    ["docker"],
    "there is no Docker in it: k3ts runs containerd; for another runtime use --container-runtime-endpoint",
  ),
  ...answers(["rootless"], "k3ts server needs root for containers; without root there is `k3ts test-cluster`"),
  ...answers(["snapshotter"], "overlayfs is used where the machine allows it, else native: leave the flag out"),
  ...answers(
    ["selinux", "disable-selinux", "protect-kernel-defaults", "prefer-bundled-bin", "with-node-id"],
    "k3ts has nothing like it; leave the flag out",
  ),
  ...answers(
    ["embedded-registry", "airgap-extra-registry", "system-default-registry"],
    "k3ts needs no images of its own; mirrors of registries are set in --private-registry, and images are brought " +
      "with `k3ts images import`",
  ),
  ...answers(
    ["image-credential-provider-bin-dir", "image-credential-provider-config"],
    "credentials for images come from --private-registry and imagePullSecrets",
  ),
  ...answers(["write-kubeconfig-group"], "use --write-kubeconfig-mode, or print one with `k3ts kubeconfig`"),
  ...answers(["servicelb-namespace"], "load balancers are served by this process, without pods; leave the flag out"),
  ...answers(["tls-san-security"], "the certificate has only the names of --tls-san; leave the flag out"),
  ...answers(["advertise-port"], "the API server is advertised with the port of --https-listen-port"),
  "logging-format": { kind: "value", becomes: (value) => [["log-format", value]] },
  ...answers(["vmodule"], "the log has no levels by file; -v 4 logs more of everything"),
}
