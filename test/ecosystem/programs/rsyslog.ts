import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** A collector on every node, after rsyslog's documentation of its modules imfile and mmkubernetes. */
const RSYSLOG = `apiVersion: v1
kind: Namespace
metadata: { name: logging }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: rsyslog, namespace: logging }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: rsyslog }
rules: [{ apiGroups: [""], resources: [namespaces, pods], verbs: [get, list, watch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: rsyslog }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rsyslog }
subjects: [{ kind: ServiceAccount, name: rsyslog, namespace: logging }]
---
apiVersion: v1
kind: ConfigMap
metadata: { name: rsyslog, namespace: logging }
data:
  rsyslog.conf: |
    global(workDirectory="/state" maxMessageSize="64k")
    module(load="imfile" mode="inotify")
    module(load="mmjsonparse")
    module(load="mmkubernetes"
      kubernetesurl="https://kubernetes.default.svc:443"
      tls.cacert="/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
      tokenfile="/var/run/secrets/kubernetes.io/serviceaccount/token"
      filenamerulebase="/etc/rsyslog/files.rulebase"
      containerrulebase="/etc/rsyslog/containers.rulebase")
    template(name="record" type="list") {
      property(name="$!kubernetes!namespace_name") constant(value=" ")
      property(name="$!kubernetes!pod_name") constant(value=" ")
      property(name="$!kubernetes!container_name") constant(value=" ")
      property(name="$!kubernetes!labels!app") constant(value=" ")
      property(name="msg" field.delimiter="32" field.number="4") constant(value="\\n")
    }
    input(type="imfile" file="/var/log/containers/*.log" tag="kubernetes" addmetadata="on" ruleset="pods"
      reopenOnTruncate="on" readMode="0")
    ruleset(name="pods") {
      action(type="mmkubernetes")
      action(type="omfile" file="/state/records" template="record")
    }
  files.rulebase: |
    version=2
    rule=:/var/log/containers/%pod_name:char-to:_%_%namespace_name:char-to:_%_%container_name_and_id:char-to:.%.log
  containers.rulebase: |
    version=2
    rule=:%k8s_prefix:char-to:_%_%container_name:char-to:_%
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: rsyslog, namespace: logging }
spec:
  selector: { matchLabels: { app: rsyslog } }
  template:
    metadata: { labels: { app: rsyslog } }
    spec:
      serviceAccountName: rsyslog
      tolerations: [{ operator: Exists }]
      terminationGracePeriodSeconds: 5
      containers:
        - name: rsyslog
          image: docker.io/rsyslog/rsyslog:8.2302.0
          command: [rsyslogd, -n, -f, /etc/rsyslog/rsyslog.conf, -i, NONE]
          resources: { requests: { cpu: 10m, memory: 16Mi }, limits: { memory: 128Mi } }
          volumeMounts:
            - { name: config, mountPath: /etc/rsyslog }
            - { name: state, mountPath: /state }
            - { name: containers, mountPath: /var/log/containers, readOnly: true }
            - { name: pods, mountPath: /var/log/pods, readOnly: true }
      volumes:
        - { name: config, configMap: { name: rsyslog } }
        - { name: state, emptyDir: {} }
        - { name: containers, hostPath: { path: /var/log/containers } }
        - { name: pods, hostPath: { path: /var/log/pods } }
`

const WRITER = `apiVersion: v1
kind: Pod
metadata: { name: writer, namespace: shop, labels: { app: till } }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: k3ts.local/busybox:1
      command: [sh, -c, "n=0; while true; do n=$((n + 1)); echo order-$n; sleep 0.2; done"]
    - name: second
      image: k3ts.local/busybox:1
      command: [sh, -c, "trap 'exit 1' TERM; echo began >&2; sleep infinity & wait"]
`

const RECORDS = `collector=$(kubectl -n logging get pods -l app=rsyslog -o jsonpath='{.items[0].metadata.name}')
records() { kubectl -n logging exec "$collector" -- cat /state/records; }
recorded() { records | grep -qxF "$1"; }
`

export const rsyslog: Program = {
  name: "rsyslog",
  from: [
    {
      kind: "debian",
      package: "rsyslog",
      version: "8.2302.0-1+deb12u1",
      sha256: "28432316dbf240962bb7c71871615a513f08443af7f745c604576d5b509d2535",
      libraries: [
        ...["rsyslog-kubernetes", "liblognorm5", "libestr0", "libfastjson4", "libcurl4", "libc6", "libuuid1", "zlib1g"],
        ...["libsystemd0", "libcap2", "libgcrypt20", "libgpg-error0", "liblz4-1", "liblzma5", "libzstd1", "libssl3"],
        ...["libnghttp2-14", "libidn2-0", "librtmp1", "libssh2-1", "libpsl5", "libldap-2.5-0", "libsasl2-2"],
        ...["libbrotli1", "libunistring2", "libgnutls30", "libhogweed6", "libnettle8", "libgmp10", "libp11-kit0"],
        ...["libtasn1-6", "libffi8", "libgssapi-krb5-2", "libkrb5-3", "libk5crypto3", "libkrb5support0"],
        ...["libkeyutils1", "libcom-err2", "libgcc-s1", "libpcre2-8-0"],
      ],
    },
  ],
  shows:
    "a DaemonSet that reads `/var/log/containers` and asks the API server for the labels of pods: each line once, with namespace, pod, container and label, over a restart of a container and a rotation of its log",
  on: "node",
  flags: ["--kubelet-arg", "container-log-max-size=16Ki"],
  images: (had) => [
    debianImage({
      name: "docker.io/rsyslog/rsyslog:8.2302.0",
      root: had.folder("rsyslog"),
      user: { name: "syslog", id: 106, home: "/state" },
      writable: ["state"],
    }),
  ],
  async run(at) {
    at.write("rsyslog.yaml", RSYSLOG)
    at.write("writer.yaml", WRITER)
    await at.step(
      "Installing",
      120,
      `kubectl create namespace shop
kubectl apply -f rsyslog.yaml
kubectl -n logging rollout status daemonset/rsyslog --timeout=90s`,
    )
    await at.step(
      "Collecting the lines of a new pod",
      120,
      `${RECORDS}kubectl apply -f writer.yaml
kubectl -n shop wait pod writer --for=condition=Ready --timeout=60s
until_true 60 recorded 'shop writer main till order-3'
until_true 30 recorded 'shop writer second till began'`,
    )
    await at.step(
      "Collecting after a restart of a container",
      120,
      `${RECORDS}kubectl -n shop exec writer -c second -- kill -TERM 1
twice() { [ "$(records | grep -c 'shop writer second till began')" = 2 ]; }
until_true 60 twice`,
    )
    await at.step(
      "Collecting over a rotation",
      240,
      `${RECORDS}kubectl -n shop exec writer -c main -- sh -c 'for n in $(seq 1 600); do echo "burst-$n" > /proc/1/fd/1; done'
until_true 60 recorded 'shop writer main till burst-600'
log=$(readlink -f "$(ls /var/log/containers/writer_shop_main-*.log)")
rotated() { ls "$(dirname "$log")" | grep -q '\\.log\\.'; }
until_true 90 rotated
kubectl -n shop exec writer -c main -- sh -c 'for n in $(seq 601 700); do echo "burst-$n" > /proc/1/fd/1; done'
until_true 60 recorded 'shop writer main till burst-700'
same 700 "$(records | grep -c 'shop writer main till burst-')"
same 700 "$(records | grep 'shop writer main till burst-' | sort -u | wc -l)"`,
    )
    await at.step(
      "Removing the pod, and all",
      150,
      `kubectl delete namespace shop --timeout=60s
until_true 30 sh -c '! ls /var/log/containers/writer_shop_*'
kubectl delete -f rsyslog.yaml --timeout=60s`,
    )
  },
}
