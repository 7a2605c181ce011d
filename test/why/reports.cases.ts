import { deployment, pod, type Situation } from "./situation.fixtures.ts"

/** What people report of their clusters: two problems at once, a name that is nearly right, an object that only names others. */
const ONE = `{containers: [{name: c, image: "app:1"}]}`
const web = deployment("web", ONE)

const quits = (exitCode: number, ...logs: readonly string[]) => ({
  nodes: 1,
  images: { "app:1": { runsMs: 100, exitCode, logs } },
})

export const object = (apiVersion: string, kind: string, name: string, rest: string): string => `
---
apiVersion: ${apiVersion}
kind: ${kind}
metadata: {name: ${name}}
${rest}
`
const service = (name: string, spec: string): string => object("v1", "Service", name, `spec: ${spec}`)
const job = (spec: string): string => object("batch/v1", "Job", "nightly", `spec: ${spec}`)
const noImage = { "app:1": { pullError: "docker.io/library/app:1: not found" } }

const SPREAD = `topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]`
const mounted = (volume: string, path: string): string =>
  `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: ${path}}]}], volumes: [{name: v, ${volume}}]}`
const CONF = object("v1", "ConfigMap", "conf", "data: {app.conf: x}")

const PLACEMENT: readonly Situation[] = [
  {
    title: "a spread that counts a node which is meant for others",
    yaml: deployment("web", `{${SPREAD}, containers: [{name: c, image: "app:1"}]}`).replace(
      "replicas: 1",
      "replicas: 3",
    ),
    ask: "deployment/web",
    cause: "topology-spread",
    says: /zone=z1 has 1 of these pods already and z2 has 0: maxSkew is 1; node b there has the taint dedicated=db:NoSchedule/,
    mends: 2,
    options: {
      nodes: [
        { name: "a", labels: { zone: "z1" } },
        { name: "b", labels: { zone: "z2" }, taints: [{ key: "dedicated", value: "db", effect: "NoSchedule" }] },
      ],
    },
  },
  {
    title: "a spread that would be even with a pod for which the other zone has no room",
    yaml: deployment(
      "web",
      `{${SPREAD}, containers: [{name: c, image: "app:1", resources: {requests: {cpu: 600m}}}]}`,
    ).replace("replicas: 1", "replicas: 4"),
    ask: "deployment/web",
    cause: "topology-spread",
    says: /z2 has 1: maxSkew is 1; node b there needs 0\.6 CPUs, 0\.4 of 1 free/,
    options: {
      nodes: [
        { name: "a", labels: { zone: "z1" } },
        { name: "b", labels: { zone: "z2" }, capacity: { cpu: 1 } },
      ],
    },
  },
  {
    title: "a volume of another zone than the pod is meant for",
    yaml:
      object(
        "v1",
        "PersistentVolume",
        "disk",
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: manual, hostPath: {path: /disk}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z1]}]}]}}}",
      ) +
      object(
        "v1",
        "PersistentVolumeClaim",
        "data",
        "spec: {accessModes: [ReadWriteOnce], storageClassName: manual, resources: {requests: {storage: 1Gi}}}",
      ) +
      deployment(
        "web",
        `{nodeSelector: {topology.kubernetes.io/zone: z2}, containers: [{name: c, image: "app:1"}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}`,
      ),
    ask: "deployment/web",
    cause: "node-selector",
    says: /has topology\.kubernetes\.io\/zone=z1, the pod's nodeSelector wants topology\.kubernetes\.io\/zone=z2/,
    // That a machine is in another zone is not made true by a label.
    mends: 1,
    options: {
      nodes: [
        { name: "a", labels: { "topology.kubernetes.io/zone": "z1" } },
        { name: "b", labels: { "topology.kubernetes.io/zone": "z2" } },
      ],
    },
  },
  {
    title: "a pod that must be near pods of another namespace, which its term does not name",
    yaml: `
apiVersion: v1
kind: Namespace
metadata: {name: data}
${pod("cache", ONE, "namespace: data, labels: {app: cache}")}
${deployment("web", `{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}, containers: [{name: c, image: "app:1"}]}`)}`,
    ask: "deployment/web",
    cause: "pod-affinity",
    says: /no such pod runs on any node in its own namespace; there are some in data/,
  },
]

const CONNECTIONS: readonly Situation[] = [
  {
    title: "a Service for UDP that names a port which its pods have for TCP",
    yaml:
      deployment("names", `{containers: [{name: c, image: "app:1", ports: [{name: dns, containerPort: 53}]}]}`) +
      service("names", "{selector: {app: names}, ports: [{port: 53, protocol: UDP, targetPort: dns}]}"),
    ask: "service/names",
    cause: "service-target-port-protocol",
    says: /port 53 goes by UDP to the port named "dns" of its pods, which have it for TCP only/,
  },
  {
    title: "a Service with a typing error in a port name, whose pods have several",
    yaml:
      deployment(
        "web",
        `{containers: [{name: c, image: "app:1", ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]}]}`,
      ) + service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: htttp}]}"),
    ask: "service/web",
    cause: "service-target-port-name",
    says: /port named "htttp" of its pods, which have only http \(8080\), metrics \(9090\)/,
    mends: 1,
  },
  {
    title: "a second port of a Service, which its pods do not have",
    yaml:
      deployment("web", `{containers: [{name: c, image: "app:1", ports: [{name: http, containerPort: 8080}]}]}`) +
      service(
        "web",
        "{selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}, {name: metrics, port: 9090, targetPort: metrics}]}",
      ),
    ask: "service/web",
    cause: "service-target-port-name",
    // That it leads to the first port too is not what it means.
    says: /port 9090 goes to the port named "metrics"/,
  },
  {
    title: "a policy that names the port of a Service, where the pods listen on another one",
    yaml:
      web +
      deployment("db", `{containers: [{name: c, image: "db:1", ports: [{containerPort: 8080}]}]}`) +
      service("db", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "db",
        "spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 80}]}]}",
      ),
    ask: "service/db",
    flags: "--from deployment/web --port 80",
    cause: "network-policy",
    says: /a rule names the right pods and port 80, and the connection goes to port 8080 of the pod/,
  },
  {
    title: "a program that looks for the database in its own pod",
    yaml:
      web +
      deployment("db", `{containers: [{name: c, image: "db:1"}]}`) +
      service("db", "{selector: {app: db}, ports: [{port: 5432}]}"),
    ask: "deployment/web",
    cause: "connection-to-itself",
    says: /asks 127\.0\.0\.1:5432, which is its own pod, and nothing listens there; Service default\/db has this port/,
    options: quits(1, "Error: connect ECONNREFUSED 127.0.0.1:5432", "    at TCPConnectWrap.afterConnect (node:net:1)"),
  },
]

const WORDS: readonly (readonly [
  title: string,
  code: number,
  logs: readonly string[],
  cause: string,
  says: RegExp,
  spec?: string,
])[] = [
  [
    "a certificate for another name, which Python takes for one that cannot be verified",
    1,
    [
      "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid for 'db'. (_ssl.c:1000)",
    ],
    "certificate-name",
    /by a name that the server's certificate does not have/,
  ],
  [
    "a library that the image does not have, which a shell reports as a command that is not found",
    127,
    [
      "app: error while loading shared libraries: libssl.so.1.1: cannot open shared object file: No such file or directory",
    ],
    "library-missing",
    /needs the library libssl\.so\.1\.1/,
  ],
  [
    "a program that was built for newer libraries",
    1,
    ["/app: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /app)"],
    "library-too-old",
    /GLIBC_2\.34 is not there/,
  ],
  [
    "a database that wants an empty folder and gets a new volume",
    1,
    [
      'initdb: error: directory "/var/lib/postgresql/data" exists but is not empty',
      "initdb: detail: It contains a lost+found directory, perhaps due to it being a mount point.",
    ],
    "volume-not-empty",
    /its volume has the folder lost\+found/,
  ],
  [
    "a port that another program has, in the words of Spring Boot",
    1,
    ["APPLICATION FAILED TO START", "Description:", "Web server failed to start. Port 8080 was already in use."],
    "address-in-use",
    /its port is taken/,
  ],
  [
    "a variable that Python does not find",
    1,
    ["Traceback (most recent call last):", '  File "app.py", line 4, in <module>', "KeyError: 'DATABASE_URL'"],
    "variable-missing",
    /wants variable DATABASE_URL, which the container does not have; it has DATABASE_URI/,
    `{containers: [{name: c, image: "app:1", env: [{name: DATABASE_URI, value: x}]}]}`,
  ],
  [
    "a script that a ConfigMap hides",
    2,
    ["python: can't open file '/app/main.py': [Errno 2] No such file or directory"],
    "file-missing",
    /\/app\/main\.py: volume v \(ConfigMap conf\), which is mounted at \/app, has only app\.conf/,
    mounted("configMap: {name: conf}", "/app"),
  ],
  [
    "a program that an empty volume hides",
    1,
    [
      "Error: Cannot find module '/app/server.js'",
      "    at Module._resolveFilename (node:internal/modules/cjs/loader:1)",
    ],
    "file-missing",
    /volume v \(emptyDir, which begins empty\), which is mounted at \/app, does not have it, and hides what the image has/,
    mounted("emptyDir: {}", "/app"),
  ],
  [
    "a command that the script of a container does not find",
    127,
    ["sh: 1: next: not found"],
    "command-not-found",
    /next, which it runs, does not exist in the image/,
  ],
  [
    "a kind whose definition was not installed",
    1,
    ['error: unable to recognize "x.yaml": no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"'],
    "kind-not-served",
    /wants the kind ServiceMonitor of monitoring\.coreos\.com\/v1, which the server does not have/,
  ],
]

const SAID: readonly Situation[] = WORDS.map(([title, code, logs, cause, says, spec = ONE]) => ({
  title,
  yaml: CONF + deployment("web", spec),
  ask: "deployment/web",
  cause,
  says,
  options: quits(code, ...logs),
}))

const JOBS: readonly Situation[] = [
  {
    title: "a Job whose proxy runs on after its program",
    yaml: job(
      `{template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:1"}, {name: proxy, image: "proxy:1"}]}}}`,
    ),
    ask: "job/nightly",
    cause: "containers-run-on",
    sure: false,
    says: /container c ended with success 29m ago, and proxy runs on: .* perhaps this one should be a sidecar/,
    options: { nodes: 1, images: { "app:1": { runsMs: 1000 } } },
    after: "30m",
  },
  {
    title: "a Job whose time is over before its image came",
    yaml: job(
      `{activeDeadlineSeconds: 60, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:1"}]}}}`,
    ),
    ask: "job/nightly",
    cause: "image-not-found",
    says: /image app:1 does not exist/,
    options: { nodes: 1, images: noImage },
  },
  {
    title: "a CronJob whose former job waits for an image that does not exist",
    yaml: object(
      "batch/v1",
      "CronJob",
      "often",
      `spec: {schedule: "* * * * *", concurrencyPolicy: Forbid, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:1"}]}}}}}`,
    ),
    ask: "cronjob/often",
    cause: "image-not-found",
    also: ["cronjob-forbid"],
    says: /image app:1 does not exist/,
    options: { nodes: 1, images: noImage },
  },
]

export const REPORTS: readonly Situation[] = [...PLACEMENT, ...CONNECTIONS, ...SAID, ...JOBS]
