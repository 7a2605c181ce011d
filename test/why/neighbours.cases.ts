import type { Cluster } from "../../components/cluster/testing/testing.ts"
import { deployment, pod, type Situation } from "./situation.fixtures.ts"
import { object } from "./reports.cases.ts"

/** What an object shares with others: names, labels, claims, ports, queues; and what of them hides the cause. */
const ONE = `{containers: [{name: c, image: "app:1"}]}`
const TASK = `{restartPolicy: Never, containers: [{name: c, image: "app:1"}]}`
const WEB = object("v1", "Service", "web", "spec: {selector: {app: web}, ports: [{port: 80}]}")
const probing = (probe: string, ports = ""): string =>
  deployment("web", `{containers: [{name: c, image: "app:1", ${ports}readinessProbe: ${probe}}]}`)
const event = (name: string, at: string, reason: string, message: string): string =>
  object(
    "v1",
    "Event",
    name,
    `involvedObject: {apiVersion: v1, kind: Pod, name: web, namespace: default}
reason: ${reason}
message: ${JSON.stringify(message)}
type: Warning
lastTimestamp: "${at}"`,
  )
const stateful = (more = "", containers = `[{name: c, image: "app:1"}]`): string =>
  object(
    "apps/v1",
    "StatefulSet",
    "db",
    `spec: {serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: ${containers}}}${more}}`,
  )
const guard = (spec: string): string =>
  object(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "guard",
    `webhooks: [{name: guard.example.com, clientConfig: {service: {${spec}name: guard, namespace: default}}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}], admissionReviewVersions: [v1], sideEffects: None}]`,
  )
const GUARDED =
  deployment("guard", `{containers: [{name: c, image: "app:1", ports: [{containerPort: 8443}]}]}`) +
  object("v1", "Service", "guard", "spec: {selector: {app: guard}, ports: [{port: 8443}]}")
const firstPod = async (cluster: Cluster): Promise<string> => (await cluster.kubectl("get pods -o name")).stdout.trim()
const thing = (status: string): Pick<Situation, "yaml" | "breaks" | "ask"> => ({
  yaml: object(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "things.example.com",
    "spec: {group: example.com, scope: Namespaced, names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}",
  ),
  breaks: (cluster) => cluster.apply(object("example.com/v1", "Thing", "x", `status: ${status}`)),
  ask: "thing/x",
})

const SELECTED: readonly Situation[] = [
  {
    title: "a Service of pods of a Job that has ended",
    yaml: WEB + object("batch/v1", "Job", "task", `spec: {template: {metadata: {labels: {app: web}}, spec: ${TASK}}}`),
    ask: "service/web",
    cause: "pods-ended",
    says: /the pods that it selects have ended, such as Pod default\/task-/,
    options: { images: { "app:1": { runsMs: 1000 } } },
  },
  {
    title: "a Service of a pod that has failed",
    yaml: WEB + pod("web", TASK, "labels: {app: web}"),
    ask: "service/web",
    cause: "exits-with-error",
    says: /ends with exit code 3; its last line: no licence/,
    options: { images: { "app:1": { runsMs: 1000, exitCode: 3, logs: ["no licence"] } } },
  },
  {
    title: "a Service of a ReplicaSet without a Deployment, for which a quota has no room",
    yaml:
      object("v1", "ResourceQuota", "none", "spec: {hard: {pods: 0}}") +
      WEB +
      object(
        "apps/v1",
        "ReplicaSet",
        "web",
        `spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: ${ONE}}}`,
      ),
    ask: "service/web",
    cause: "quota-exceeded",
    says: /ResourceQuota default\/none does not allow a pod/,
  },
  {
    title: "a Service of a ReplicationController that is scaled to nothing",
    yaml:
      WEB +
      object(
        "v1",
        "ReplicationController",
        "old",
        `spec: {replicas: 0, selector: {app: web}, template: {metadata: {labels: {app: web}}, spec: ${ONE}}}`,
      ),
    ask: "service/web",
    cause: "scaled-to-zero",
    says: /ReplicationController default\/old, whose pods it selects, is scaled to 0 pods/,
  },
  {
    title: "a pod that was made by hand with the labels of a ReplicaSet",
    yaml: deployment("web", ONE),
    breaks: async (cluster) => {
      const hash = "{.items[0].metadata.labels.pod-template-hash}"
      const { stdout } = await cluster.kubectl(`get replicasets -o jsonpath=${hash}`)
      await cluster.apply(pod("debug", ONE, `labels: {app: web, pod-template-hash: "${stdout}"}`))
    },
    ask: "pod/debug",
    cause: "pod-missing",
    says: /does not exist any more: ReplicaSet default\/web-\w+ has deleted it, which had more pods with the labels of its selector/,
  },
  {
    title: "a pod of a StatefulSet whose name another pod has",
    yaml: pod("db-0", ONE) + stateful(),
    ask: "statefulset/db",
    cause: "pod-name-taken",
    says: /Pod default\/db-0 exists already and is nobody's/,
  },
  {
    title: "a pod of a StatefulSet whose claim a finalizer holds",
    yaml: stateful(
      ", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]",
      `[{name: c, image: "app:1", volumeMounts: [{name: data, mountPath: /d}]}]`,
    ),
    breaks: async (cluster) => {
      await cluster.kubectl(
        `patch pvc data-db-0 --type=merge -p '{"metadata":{"finalizers":["kubernetes.io/pvc-protection","corp/backup"]}}'`,
      )
      await cluster.kubectl("delete pvc data-db-0 --wait=false")
      await cluster.kubectl("delete pod db-0 --wait=false")
    },
    ask: "statefulset/db",
    cause: "held-by-finalizer",
    says: /PersistentVolumeClaim default\/data-db-0 has been deleted .* held by the finalizer corp\/backup/,
  },
]

const PROBED: readonly Situation[] = [
  {
    title: "a probe that names a host, which is the node itself",
    yaml: probing("{httpGet: {host: localhost, port: 8080, path: /}}", "ports: [{containerPort: 8080}], "),
    ask: "deployment/web",
    cause: "readiness-probe-host",
    says: /asks the host localhost, and not the pod: for the kubelet, which asks, that is the node itself/,
    mends: 1,
    options: { images: { "app:1": { http: () => new Response("ok") } } },
    tried: "not-known",
  },
  {
    title: "a probe by HTTP of a port with the name https, which answers 400",
    yaml: probing("{httpGet: {port: https, path: /}}", "ports: [{name: https, containerPort: 8443}], "),
    ask: "deployment/web",
    cause: "readiness-probe-scheme",
    says: /speaks HTTP, and the program answers 400: perhaps port https speaks HTTPS/,
    sure: false,
    options: { images: { "app:1": { http: () => new Response("", { status: 400 }) } } },
  },
]

const HIDDEN: readonly Situation[] = [
  {
    title: "a volume that is attached elsewhere, and the kubelet's complaint that it waits",
    yaml: pod("web", ONE),
    options: { images: { "app:1": { pullMs: 1e8 } } },
    breaks: (cluster) =>
      cluster.apply(
        event(
          "one",
          "2026-01-01T00:01:00Z",
          "FailedAttachVolume",
          'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) old',
        ) +
          event(
            "two",
            "2026-01-01T00:02:00Z",
            "FailedMount",
            "Unable to attach or mount volumes: unmounted volumes=[data]: timed out waiting for the condition",
          ),
      ),
    ask: "pod/web",
    cause: "volume-in-use",
    says: /is attached to another node/,
  },
  {
    title: "a Job that waits in a queue of Kueue",
    yaml: object("batch/v1", "Job", "task", `spec: {suspend: true, template: {spec: ${TASK}}}`).replace(
      "{name: task}",
      "{name: task, labels: {kueue.x-k8s.io/queue-name: team-a}}",
    ),
    ask: "job/task",
    cause: "job-queued",
    says: /suspended until queue team-a of Kueue has room for it/,
  },
  {
    title: "a pod that replaces one which failed, and does not find its ConfigMap",
    yaml:
      object("v1", "ConfigMap", "conf", "data: {a: b}") +
      deployment("web", `{containers: [{name: c, image: "app:1", envFrom: [{configMapRef: {name: conf}}]}]}`),
    breaks: async (cluster) => {
      await cluster.kubectl("delete configmap conf")
      await cluster.kubectl(
        `patch ${await firstPod(cluster)} --subresource=status --type=merge -p '{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}'`,
      )
    },
    ask: "deployment/web",
    cause: "configmap-missing",
    says: /ConfigMap conf, which envFrom of container c needs, does not exist/,
  },
  {
    title: "a webhook that asks its Service at a port which this one does not have",
    yaml: GUARDED + guard(""),
    ask: "validatingwebhookconfiguration/guard",
    cause: "webhook-port",
    says: /asks port 443 of Service default\/guard, which has 8443: nobody answers/,
    mends: 1,
    tried: "not-known",
  },
  {
    title: "a mutating policy whose expression fails for every pod",
    yaml:
      object(
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicy",
        "adds",
        `spec: {reinvocationPolicy: Never, failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'a': object.metadata.labels['nope']}}}"}}]}`,
      ) +
      object("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", "adds", "spec: {policyName: adds}"),
    breaks: (cluster) => cluster.apply(deployment("web", ONE)),
    ask: "deployment/web",
    cause: "admission-policy",
    says: /MutatingAdmissionPolicy adds \(binding adds\) refuses a pod: .*no such key: nope/,
  },
  {
    title: "an autoscaler that writes the kind of its target in lower case",
    yaml:
      deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 100m}}}]}`) +
      object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "web",
        "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}",
      ),
    ask: "hpa/web",
    cause: "autoscaler-target-missing",
    says: /a kind that is not served: deployment of apps\/v1; perhaps Deployment of apps\/v1 is meant/,
    mends: 1,
  },
  {
    title: "a machine of which its watcher says that its kernel hangs",
    yaml: "",
    breaks: (cluster) =>
      cluster.kubectl(
        `patch node node-0 --subresource=status --type=strategic -p '{"status":{"conditions":[{"type":"KernelDeadlock","status":"True","message":"task docker blocked for more than 120 seconds."},{"type":"EtcdIsVoter","status":"True"}]}}'`,
      ),
    ask: "node/node-0",
    cause: "node-problem",
    says: /node node-0 has KernelDeadlock: task docker blocked/,
  },
  {
    title: "a disruption budget of a pod without a controller",
    yaml:
      pod("web", ONE, "labels: {app: web}") +
      object(
        "policy/v1",
        "PodDisruptionBudget",
        "web",
        "spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}",
      ),
    ask: "pdb/web",
    cause: "budget-unmanaged-pods",
    says: /pods that it selects have no controller/,
  },
  {
    title: "a toleration of a taint with another value",
    yaml: deployment(
      "web",
      `{tolerations: [{key: dedicated, value: gpuu, effect: NoSchedule}], containers: [{name: c, image: "app:1"}]}`,
    ),
    options: { nodes: [{ name: "a", taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }] }] },
    ask: "deployment/web",
    cause: "taint-not-tolerated",
    says: /does not tolerate \(its toleration of dedicated is for the value gpuu\)/,
    mends: 1,
  },
  {
    title: "huge pages that no node has",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", resources: {limits: {hugepages-2Mi: 64Mi, memory: 64Mi}}}]}`,
    ),
    ask: "deployment/web",
    cause: "insufficient-hugepages-2Mi",
    says: /needs 64Mi hugepages-2Mi, the whole node has 0/,
  },
  {
    title: "a custom resource that is out of sync, by a condition that is bad when it is True",
    ...thing(`{conditions: [{type: OutOfSync, status: "True", message: drift in the bucket}]}`),
    cause: "condition",
    says: /OutOfSync=True: drift in the bucket/,
  },
  {
    title: "a custom resource that says in an error of its own that it is not ready",
    ...thing("{ready: false, error: the cloud does not accept its credentials}"),
    cause: "phase",
    says: /not ready: the cloud does not accept its credentials/,
  },
]

const ELSEWHERE: readonly Situation[] = [
  {
    title: "an Ingress that leads to a Service of another namespace",
    yaml:
      object("v1", "Namespace", "other", "") +
      WEB.replace("{name: web}", "{name: web, namespace: other}") +
      object("networking.k8s.io/v1", "IngressClass", "k3ts", "spec: {controller: k3ts.dev/ingress}") +
      object(
        "networking.k8s.io/v1",
        "Ingress",
        "web",
        "spec: {ingressClassName: k3ts, rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}",
      ),
    ask: "ingress/web",
    cause: "ingress-service-missing",
    says: /does not exist in namespace default, but in other: an Ingress leads to Services of its own namespace only/,
  },
  {
    title: "a binding that names a Role as a ClusterRole",
    yaml: `${object("rbac.authorization.k8s.io/v1", "Role", "reader", "rules: []")}${object(
      "rbac.authorization.k8s.io/v1",
      "RoleBinding",
      "reads",
      "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}\nsubjects: [{kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}]",
    )}`,
    ask: "rolebinding/reads",
    cause: "role-missing",
    says: /ClusterRole reader, which it binds, does not exist: it gives no right; there is a Role of this name/,
  },
  {
    title: "pods that made room for others of a higher priority",
    yaml:
      object("scheduling.k8s.io/v1", "PriorityClass", "high", "value: 1000") +
      deployment("low", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 700m}}}]}`),
    options: { nodes: [{ name: "a", capacity: { cpu: 1 } }] },
    breaks: (cluster) =>
      cluster.apply(
        deployment(
          "first",
          `{priorityClassName: high, containers: [{name: c, image: "app:1", resources: {requests: {cpu: 700m}}}]}`,
        ),
      ),
    ask: "deployment/low",
    cause: "insufficient-cpu",
    // Nobody should end the pod for which they made room.
    says: /needs 0\.7 CPUs, 0\.3 of 1 free$/,
    mends: 1,
  },
]

const WAITING: readonly Situation[] = [
  {
    title: "a custom resource that has been pending for too long, and tells why",
    ...thing('{phase: Pending, message: "no capacity in the region"}'),
    after: "15m",
    cause: "phase",
    says: /its controller says Pending: no capacity in the region/,
  },
]

export const NEIGHBOURS: readonly Situation[] = [...SELECTED, ...PROBED, ...HIDDEN, ...ELSEWHERE, ...WAITING]
