import { deployment, pod, running, type Situation } from "./situation.fixtures.ts"

const one = `{containers: [{name: c, image: "app:1"}]}`
const task = `{restartPolicy: Never, containers: [{name: c, image: "app:1"}]}`
/** A manifest of any kind. */
const object = (apiVersion: string, kind: string, name: string, rest: string, metadata = ""): string =>
  `\n---\napiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}${metadata}}\n${rest}\n`
const claim = (spec: string): string =>
  object(
    "v1",
    "PersistentVolumeClaim",
    "data",
    `spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, ${spec}}`,
  )
const volume = object(
  "v1",
  "PersistentVolume",
  "one",
  "spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}, storageClassName: manual}",
)
const withData = (more = ""): string =>
  `{${more}containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /d}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}`
const job = (spec: string): string => object("batch/v1", "Job", "task", `spec: ${spec}`)
const agent = (spec: string, metadata = ""): string =>
  object(
    "apps/v1",
    "DaemonSet",
    "agent",
    `spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: ${spec}}}`,
    metadata,
  )
const probing = (path: string): string =>
  `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], readinessProbe: {httpGet: {port: 80, path: ${path}}}}]}`
/** A Deployment whose program ends with an error after it has written this log. */
const ending = (log: string, exitCode = 1): Pick<Situation, "yaml" | "ask" | "options"> => ({
  yaml: deployment("web", one),
  ask: "deployment/web",
  options: { nodes: 1, images: { "app:1": { runsMs: 500, exitCode, logs: log.split("\n") } } },
})

/** What people ask in forums and issues, beside what the other tables have. */
export const FORUMS: readonly Situation[] = [
  {
    title: "a claim that waits for a scheduler, of a pod that names its node itself",
    yaml:
      object(
        "storage.k8s.io/v1",
        "StorageClass",
        "slow",
        "provisioner: example.com/disks\nvolumeBindingMode: WaitForFirstConsumer",
      ) +
      claim("storageClassName: slow") +
      pod("web", withData("nodeName: node-0, ")),
    ask: "pod/web",
    cause: "claim-without-scheduler",
    says: /class slow .* pod web is on node node-0 without the scheduler: its nodeName was set/,
  },
  {
    title: "a claim that names a volume which does not exist",
    yaml: claim(`storageClassName: "", volumeName: nope`) + deployment("web", withData()),
    ask: "deployment/web",
    cause: "volume-missing",
    says: /names PersistentVolume nope, which does not exist/,
  },
  {
    title: "a claim whose selector no volume has",
    yaml: volume + claim("storageClassName: manual, selector: {matchLabels: {a: b}}") + deployment("web", withData()),
    ask: "deployment/web",
    cause: "no-volume-fits",
    says: /volume one does not have the labels that the claim's selector wants/,
  },
  {
    title: "a claim of a block device where there is only a file system",
    yaml: volume + claim("storageClassName: manual, volumeMode: Block"),
    ask: "pvc/data",
    cause: "no-volume-fits",
    says: /volume one is a Filesystem, and the claim wants a Block/,
  },
  {
    title: "a volume that is deleted while it is bound",
    yaml: volume + claim("storageClassName: manual"),
    ask: "pv/one",
    breaks: (cluster) => cluster.kubectl("delete pv one --wait=false"),
    cause: "held-by-finalizer",
    says: /kubernetes\.io\/pv-protection: it is bound to PersistentVolumeClaim default\/data/,
  },
  {
    title: "a socket of the node that is not there",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /d}]}], volumes: [{name: v, hostPath: {path: /var/run/docker.sock, type: Socket}}]}`,
    ),
    ask: "deployment/web",
    cause: "mount-failed",
    says: /hostPath type check failed: \/var\/run\/docker\.sock is not a Socket/,
  },
  {
    title: "a processor in a node affinity that is misspelt",
    yaml: deployment(
      "web",
      `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd46]}]}]}}}, containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "node-affinity",
    says: /kubernetes\.io\/arch In \[amd46\] \(it has amd64\)/,
  },
  {
    title: "a DaemonSet whose port another pod of the node has",
    yaml:
      pod(
        "other",
        `{nodeName: node-0, containers: [{name: c, image: "app:1", ports: [{containerPort: 80, hostPort: 9100}]}]}`,
      ) + agent(`{hostNetwork: true, containers: [{name: c, image: "app:1", ports: [{containerPort: 9100}]}]}`),
    ask: "daemonset/agent",
    options: { nodes: 1 },
    cause: "host-port-taken",
    says: /its port 9100\/TCP taken by pod default\/other/,
  },
  {
    title: "a DaemonSet whose pods Pod Security does not take",
    yaml:
      object("v1", "Namespace", "strict", "", ", labels: {pod-security.kubernetes.io/enforce: baseline}") +
      agent(`{hostNetwork: true, containers: [{name: c, image: "app:1"}]}`, ", namespace: strict"),
    ask: "daemonset/agent",
    flags: "-n strict",
    cause: "pod-security",
    says: /namespace strict takes only pods of level baseline.*hostNetwork=true/,
  },
  {
    title: "a Job that is left to a controller which does not run",
    yaml: job(`{managedBy: kueue.x-k8s.io/multikueue, template: {spec: ${task}}}`),
    ask: "job/task",
    cause: "job-managed-elsewhere",
    says: /managedBy leaves it to kueue\.x-k8s\.io\/multikueue, which has not started it/,
    sure: false,
  },
  {
    title: "a Job that replaces only pods which have ended, whose pod a finalizer holds",
    yaml: job(`{podReplacementPolicy: Failed, template: {metadata: {finalizers: [example.com/hold]}, spec: ${task}}}`),
    ask: "job/task",
    breaks: (cluster) => cluster.kubectl("delete pod -l job-name=task --wait=false"),
    cause: "held-by-finalizer",
    says: /held by the finalizer example\.com\/hold/,
  },
  {
    title: "a Job for whose pods a quota has no room",
    yaml: object("v1", "ResourceQuota", "q", `spec: {hard: {pods: "0"}}`) + job(`{template: {spec: ${task}}}`),
    ask: "job/task",
    cause: "quota-exceeded",
    says: /ResourceQuota default\/q does not allow a pod/,
  },
  {
    title: "a LimitRange that wants more memory than a container requests",
    yaml:
      object("v1", "LimitRange", "l", "spec: {limits: [{type: Container, min: {memory: 256Mi}}]}") +
      deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {memory: 64Mi}}}]}`),
    ask: "deployment/web",
    cause: "limit-range",
    says: /minimum memory usage per Container is 256Mi, but request is 64Mi/,
  },
  {
    title: "an init container that needs more memory than its limit",
    yaml: deployment(
      "web",
      `{initContainers: [{name: i, image: "big:1", resources: {limits: {memory: 64Mi}}}], containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    options: { nodes: 1, images: { "big:1": { memoryBytes: 1e9 } } },
    cause: "oom-killed",
    says: /init container i was killed because it used more than its memory limit of 64Mi/,
  },
  {
    title: "a memory limit of which the unit is missing",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", resources: {limits: {memory: "128"}}}]}`),
    ask: "deployment/web",
    options: {
      nodes: 1,
      images: {
        "app:1": {
          startError:
            "failed to create containerd task: OCI runtime create failed: runc create failed: unable to start " +
            "container process: container init was OOM-killed (memory limit too low?)",
        },
      },
    },
    cause: "memory-limit-too-low",
    says: /its memory limit of 128 is too low for any program to start in it/,
  },
  {
    title: "a readiness probe of a path that the program does not have",
    yaml: deployment("web", probing("/helth")),
    ask: "deployment/web",
    options: { nodes: 1, images: { "app:1": { http: () => new Response("no", { status: 404 }) } } },
    cause: "readiness-probe-path",
    says: /asks for \/helth, and the program answers 404/,
  },
  {
    title: "a readiness probe of a path that wants credentials",
    yaml: deployment("web", probing("/private")),
    ask: "deployment/web",
    options: { nodes: 1, images: { "app:1": { http: () => new Response("no", { status: 401 }) } } },
    cause: "readiness-probe-status",
    says: /answers 401: it wants credentials/,
  },
  {
    title: "a service account that was deleted under its pods",
    yaml:
      object("v1", "ServiceAccount", "bot", "") +
      deployment("web", `{serviceAccountName: bot, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    breaks: running("delete sa bot", "delete pod -l app=web --wait=false"),
    cause: "service-account-missing",
    says: /ServiceAccount default\/bot does not exist/,
    mends: 1,
  },
  {
    title: "an autoscaler of pods with a sidecar that requests nothing",
    yaml:
      deployment(
        "web",
        `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 100m}}}, {name: side, image: "app:1"}]}`,
      ) +
      object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "web",
        "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}",
      ),
    ask: "hpa/web",
    cause: "autoscaler-requests-missing",
    says: /container side of pod web-\S+ requests none/,
  },
  {
    title: "a definition whose versions a Service converts that does not exist",
    yaml: object(
      "apiextensions.k8s.io/v1",
      "CustomResourceDefinition",
      "widgets.example.com",
      "spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: convert, namespace: default}}}}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}]}",
    ),
    ask: "crd/widgets.example.com",
    cause: "service-missing",
    says: /Service default\/convert does not exist/,
  },
  {
    title: "a module that a program for Node.js does not find",
    ...ending(`node:internal/modules/cjs/loader:1144
  throw err;
  ^

Error: Cannot find module '/app/server.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1141:15) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.11.0`),
    cause: "exits-with-error",
    says: /ends with exit code 1; its log says: Error: Cannot find module '\/app\/server\.js'/,
  },
  {
    title: "a program in Java whose exception has another one as its cause",
    ...ending(`Exception in thread "main" java.lang.IllegalStateException: cannot start
${"\tat com.example.Frame.call(Frame.java:5)\n".repeat(30)}Caused by: java.lang.NullPointerException: "url" is null
${"\tat com.example.Db.open(Db.java:9)\n".repeat(30)}\t... 1 more`),
    cause: "exits-with-error",
    says: /its log says: Caused by: java\.lang\.NullPointerException: "url" is null/,
  },
  {
    title: "a database that wants a password in its environment",
    ...ending(`Error: Database is uninitialized and superuser password is not specified.
       You must specify POSTGRES_PASSWORD to a non-empty value for the
       superuser. For example, "-e POSTGRES_PASSWORD=password" on "docker run".`),
    cause: "exits-with-error",
    says: /its log says: Error: Database is uninitialized and superuser password is not specified/,
  },
  {
    title: "a name of a host deep in the stack of an exception",
    ...ending(`Exception in thread "main" java.lang.IllegalStateException: cannot start
${"\tat com.example.Frame.call(Frame.java:5)\n".repeat(30)}Caused by: java.net.UnknownHostException: postgres
${"\tat java.net.Inet6AddressImpl.lookup(Unknown Source)\n".repeat(30)}\t... 1 more`),
    cause: "name-not-found",
    says: /the name postgres does not resolve: there is no Service postgres/,
  },
]
