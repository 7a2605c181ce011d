import { Node } from "../../components/cluster/testing/testing.ts"
import { asking, deployment, pod, type Situation } from "./situation.fixtures.ts"

const one = `{containers: [{name: c, image: "app:1"}]}`
const APP = `{containers: [{name: c, image: "app:1", ports: [{name: http, containerPort: 8080}]}]}`
const WEB_SERVICE = "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}"

/** More of a manifest. */
const also = (yaml: string): string => `\n---\n${yaml}\n`
const service = (name: string, spec: string): string =>
  also(`apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec: ${spec}`)
const ingress = (name: string, to: string): string =>
  also(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ${name}}
spec: {ingressClassName: k3ts, rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: ${to}, port: {number: 80}}}}]}}]}`)
const job = (spec: string): string => also(`apiVersion: batch/v1\nkind: Job\nmetadata: {name: task}\nspec: ${spec}`)
const task = `{restartPolicy: Never, containers: [{name: c, image: "app:1"}]}`
const definition = (plural: string, kind: string): string =>
  also(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.com}
spec: {group: example.com, scope: Namespaced, names: {plural: ${plural}, kind: ${kind}}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}`)
const claimed = pod(
  "web",
  `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /d}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}`,
)

export const EVERYDAY: readonly Situation[] = [
  {
    title: "a digest that does not exist",
    yaml: deployment("web", `{containers: [{name: c, image: "app@sha256:${"a".repeat(64)}"}]}`),
    ask: "deployment/web",
    cause: "image-not-found",
    says: /app@sha256:a+ does not exist/,
    options: {
      nodes: 1,
      images: { app: { pullError: "failed to resolve reference: content at https://r/v2: not found: not found" } },
    },
  },
  {
    title: "credentials of a registry that have expired",
    yaml: deployment("web", `{containers: [{name: c, image: "123.dkr.ecr.eu-west-1.amazonaws.com/app:1"}]}`),
    ask: "deployment/web",
    cause: "image-credentials",
    says: /does not give image 123\.dkr\.ecr/,
    options: {
      nodes: 1,
      images: {
        "123.dkr.ecr.eu-west-1.amazonaws.com/app:1": {
          pullError: "403 Forbidden: Your authorization token has expired. Reauthenticate and try again.",
        },
      },
    },
  },
  {
    title: "a node that has no space for an image",
    yaml: deployment("web", one),
    ask: "deployment/web",
    cause: "node-disk-full",
    says: /no disk space for image app:1/,
    options: {
      nodes: 1,
      images: {
        "app:1": { pullError: "failed to extract layer sha256:aa: write /x: no space left on device: unknown" },
      },
    },
  },
  {
    title: "a service account whose pull secret does not exist",
    yaml:
      also("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: puller}\nimagePullSecrets: [{name: regcred}]") +
      deployment("web", `{serviceAccountName: puller, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "image-credentials",
    says: /Secret regcred of imagePullSecrets does not exist/,
    options: { nodes: 1, images: { "app:1": { pullError: "unexpected status from HEAD request: 401 Unauthorized" } } },
  },
  {
    title: "a startup probe that gives up too early",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 3}}]}`,
    ),
    ask: "deployment/web",
    cause: "startup-probe-refused",
    says: /or not yet, so it is killed before it has started/,
    options: { nodes: 1, images: { "app:1": { listensAfterMs: 60_000 } } },
  },
  {
    title: "a pod that wants more local disk than any node has",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", resources: {requests: {ephemeral-storage: 5Ti}}}]}`,
    ),
    ask: "deployment/web",
    cause: "insufficient-ephemeral-storage",
    says: /needs 5Ti ephemeral-storage, the whole node has/,
  },
  {
    title: "a pod that was put by hand on a node which is too small",
    yaml: pod(
      "web",
      `{nodeName: node-0, containers: [{name: c, image: "app:1", resources: {requests: {cpu: "100"}}}]}`,
    ),
    ask: "pod/web",
    cause: "kubelet-refused",
    says: /the node has not enough CPU/,
  },
  {
    title: "a running pod that asks for more than others leave it",
    yaml:
      pod("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 100m}}}]}`) +
      pod("other", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 1500m}}}]}`),
    options: { nodes: [{ name: "a", capacity: { cpu: "2" } }] },
    breaks: (cluster) =>
      cluster.kubectl([
        "patch",
        "pod",
        "web",
        "--subresource=resize",
        "-p",
        '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}',
      ]),
    ask: "pod/web",
    cause: "resize-deferred",
    says: /node a cannot give now what it asks for: .*cpu, requested: 1000, used: 1500/,
  },
  {
    title: "a rollout without room for one pod more",
    yaml: deployment(
      "web",
      `{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}, containers: [{name: c, image: "app:1"}]}`,
      "strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}",
    ).replace("replicas: 1", "replicas: 2"),
    breaks: (cluster) => cluster.kubectl("set image deployment/web c=app:2"),
    ask: "deployment/web",
    cause: "pod-anti-affinity",
    says: /must not share kubernetes\.io\/hostname with pods with app=web/,
  },
  {
    title: "a DaemonSet whose template is rolled out only on deletion",
    yaml: also(`apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web}
spec: {updateStrategy: {type: OnDelete}, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: ${one}}}`),
    breaks: (cluster) => cluster.kubectl("set image daemonset/web c=app:2"),
    ask: "daemonset/web",
    cause: "rollout-on-delete",
    says: /0 of 2 pods have the new template/,
  },
  {
    title: "a StatefulSet with a name that is too long for labels of its pods",
    yaml: also(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ${"a".repeat(58)}}
spec: {serviceName: web, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: ${one}}}`),
    ask: `statefulset/${"a".repeat(58)}`,
    cause: "invalid",
    says: /metadata\.labels: .*must be no more than 63 bytes/,
  },
  {
    title: "a Job that a rule about exit codes fails at once",
    yaml: job(
      `{podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}, template: {spec: ${task}}}`,
    ),
    ask: "job/task",
    cause: "exits-with-error",
    says: /exit code 42; its last line: bad input/,
    options: { nodes: 1, images: { "app:1": { runsMs: 10, exitCode: 42, logs: ["bad input"] } } },
  },
  {
    title: "a Job of which single indexes fail",
    yaml: job(
      `{completions: 2, parallelism: 2, completionMode: Indexed, backoffLimitPerIndex: 0, template: {spec: ${task}}}`,
    ),
    ask: "job/task",
    cause: "exits-with-error",
    says: /exit code 2; its last line: bad input/,
    options: { nodes: 1, images: { "app:1": { runsMs: 10, exitCode: 2, logs: ["bad input"] } } },
  },
  {
    title: "a Job whose program needs more memory than its limit",
    yaml: job(
      `{backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:1", resources: {limits: {memory: 64Mi}}}]}}}`,
    ),
    ask: "job/task",
    cause: "oom-killed",
    says: /used more than its memory limit of 64Mi/,
    options: { nodes: 1, images: { "app:1": { memoryBytes: 100 * 2 ** 20 } } },
  },
  {
    title: "another name of a Service that does not exist",
    yaml:
      service("database", "{ports: [{port: 5432}]}") +
      service("db", "{type: ExternalName, externalName: databse.default.svc.cluster.local}"),
    ask: "service/db",
    cause: "external-name-missing",
    says: /Service default\/databse, whose name it stands for, does not exist; there is database/,
  },
  {
    title: "an address in the place of another name",
    yaml: service("db", "{type: ExternalName, externalName: 10.1.2.3}"),
    ask: "service/db",
    cause: "external-name-address",
    says: /externalName 10\.1\.2\.3 is an address/,
  },
  {
    title: "a load balancer of a class that nobody serves",
    yaml:
      deployment("web", APP) +
      service(
        "web",
        "{type: LoadBalancer, loadBalancerClass: example.com/x, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}",
      ),
    ask: "service/web",
    cause: "load-balancer-pending",
    says: /the controller of class example\.com\/x has not given it one; perhaps it does not run/,
    sure: false,
  },
  {
    title: "endpoints written by hand of which none is ready",
    yaml:
      service("db", "{ports: [{port: 5432}]}") +
      also(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
endpoints: [{addresses: [10.9.9.9], conditions: {ready: false}}]
ports: [{port: 5432}]`),
    ask: "service/db",
    cause: "endpoints-not-ready",
    says: /none of its endpoints is ready: so says who writes EndpointSlice db-1/,
  },
  {
    title: "an Ingress with a host and path that an older one has",
    yaml:
      deployment("web", APP) + service("web", WEB_SERVICE) + service("other", WEB_SERVICE) + ingress("first", "other"),
    breaks: (cluster) => cluster.apply(ingress("web", "web")),
    ask: "ingress/web",
    cause: "ingress-path-taken",
    says: /a\.example\/ leads to what the older Ingress default\/first says/,
    options: { nodes: 1, network: "real" },
  },
  {
    title: "an Ingress whose Secret has no certificate",
    yaml:
      deployment("web", APP) +
      service("web", WEB_SERVICE) +
      also("apiVersion: v1\nkind: Secret\nmetadata: {name: web-tls}\nstringData: {cert.pem: x}") +
      ingress("web", "web").replace("rules:", "tls: [{hosts: [a.example], secretName: web-tls}], rules:"),
    ask: "ingress/web",
    cause: "certificate-missing",
    says: /Secret default\/web-tls has no certificate \(tls\.crt\)/,
    options: { nodes: 1, network: "real" },
  },
  {
    title: "a LimitRange whose default is below what a container requests",
    yaml:
      also(
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec: {limits: [{type: Container, default: {memory: 128Mi}}]}",
      ) + deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {memory: 256Mi}}}]}`),
    ask: "deployment/web",
    cause: "invalid",
    says: /must be less than or equal to memory limit of 128Mi/,
  },
  {
    title: "a folder of the node that does not exist",
    yaml: pod(
      "web",
      `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /d}]}], volumes: [{name: v, hostPath: {path: /nowhere/here, type: Directory}}]}`,
    ),
    ask: "pod/web",
    cause: "mount-failed",
    says: /\/nowhere\/here is not a directory/,
  },
  {
    title: "a local volume of a node that is gone",
    yaml:
      also(`apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: "", local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [old-node]}]}]}}}`) +
      also(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: "", volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`) +
      claimed,
    ask: "pod/web",
    cause: "volume-elsewhere",
    says: /volume disk of claim data, which is on another node \(old-node\)/,
  },
  {
    title: "a pod that a finalizer holds",
    yaml: pod("web", one, "finalizers: [example.com/x]"),
    breaks: (cluster) => cluster.kubectl("delete pod web --wait=false"),
    ask: "pod/web",
    cause: "held-by-finalizer",
    says: /held by the finalizer example\.com\/x/,
  },
  {
    title: "a definition that one of its objects holds",
    yaml: definition("widgets", "Widget"),
    breaks: async (cluster) => {
      await cluster.apply(
        also("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, finalizers: [example.com/x]}"),
      )
      await cluster.kubectl("delete crd widgets.example.com --wait=false")
    },
    ask: "crd/widgets.example.com",
    cause: "held-by-finalizer",
    says: /^Widget default\/a has been deleted .* held by the finalizer example\.com\/x/,
  },
  {
    title: "a definition of a kind that another one has",
    yaml: definition("widgets", "Widget"),
    breaks: (cluster) => cluster.apply(definition("gadgets", "Widget")),
    ask: "crd/gadgets.example.com",
    cause: "condition",
    says: /NamesAccepted=False: .*is already in use/,
  },
  {
    title: "a custom resource whose controller says in a word that it failed",
    yaml: definition("widgets", "Widget"),
    breaks: (cluster) =>
      cluster.apply(
        also(
          "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nstatus: {phase: Failed, message: cannot reach the cloud}",
        ),
      ),
    ask: "widget/a",
    cause: "phase",
    says: /its controller says Failed: cannot reach the cloud/,
  },
  {
    title: "an object whose namespace does not exist",
    yaml: "",
    ask: "deployment/web",
    flags: "-n nowhere",
    cause: "deployment-missing",
    says: /does not exist, nor does its namespace nowhere/,
  },
  {
    title: "an object in a namespace that is being deleted",
    yaml:
      also("apiVersion: v1\nkind: Namespace\nmetadata: {name: old}") +
      also("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: old, finalizers: [example.com/x]}"),
    breaks: (cluster) => cluster.kubectl("delete namespace old --wait=false"),
    ask: "deployment/web",
    flags: "-n old",
    cause: "deployment-missing",
    says: /its namespace old is being deleted/,
  },
  {
    title: "a pod that asks only a DNS server outside of the cluster",
    yaml:
      service("db", "{ports: [{port: 5432}]}") +
      deployment(
        "web",
        `{dnsPolicy: None, dnsConfig: {nameservers: [192.0.2.53]}, containers: [{name: c, image: "app:1"}]}`,
      ),
    ask: "deployment/web",
    cause: "dns-policy",
    says: /the pod does not ask the cluster's DNS: dnsPolicy None/,
    options: { nodes: 1, images: { "app:1": { runsMs: 100, exitCode: 1, logs: ["getaddrinfo ENOTFOUND db"] } } },
  },
  {
    title: "a cluster role that is bound in a namespace, for an object of the cluster",
    yaml:
      also(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nodes}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get, list]}]`) +
      also(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: r, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodes}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]`),
    ask: "deployment/web",
    cause: "right-missing",
    breaks: asking(Node),
    mends: 1,
    tried: "not-known",
    says: /ClusterRole nodes has it, and is not bound to it; RoleBinding default\/r binds it in namespace default only/,
    options: { nodes: 1 },
  },
]
