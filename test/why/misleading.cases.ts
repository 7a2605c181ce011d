import { deployment, pod, type Situation } from "./situation.fixtures.ts"

const ONE = `{containers: [{name: c, image: "app:1"}]}`

type Image = NonNullable<NonNullable<Situation["options"]>["images"]>[string]

/** A program that writes these lines and fails. */
const quits = (...logs: readonly string[]): Image => ({ runsMs: 500, exitCode: 1, logs })

const configMap = (name: string): string => `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ${name}}
data: {a: b}
`

const webhook = (operation: string, group: string, resource: string): string => `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks: [{name: guard.example.com, clientConfig: {service: {name: guard, namespace: default}}, rules: [{apiGroups: ["${group}"], apiVersions: [v1], operations: [${operation}], resources: [${resource}]}], admissionReviewVersions: [v1], sideEffects: None}]
`

/** Something beside the cause catches the eye, or there are two causes. */
export const MISLEADING: readonly Situation[] = [
  {
    title: "a Job whose program fails beside a sidecar that is ended with it",
    yaml: `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, initContainers: [{name: side, image: "side:1", restartPolicy: Always}], containers: [{name: main, image: "main:1"}]}}}
`,
    ask: "job/task",
    cause: "exits-with-error",
    says: /container main ends with exit code 1; its last line: no licence/,
    options: { nodes: 1, images: { "main:1": quits("no licence") } },
  },
  {
    title: "a pod of two containers, of which the second failed first",
    yaml: pod("task", `{restartPolicy: Never, containers: [{name: a, image: "slow:1"}, {name: b, image: "app:1"}]}`),
    ask: "pod/task",
    cause: "exits-with-error",
    says: /container b ends with exit code 1/,
    options: { nodes: 1, images: { "app:1": quits("bad input"), "slow:1": { runsMs: 9000, exitCode: 2 } } },
  },
  {
    title: "a ConfigMap that was deleted after the container of a pod had started",
    yaml:
      configMap("settings") +
      deployment(
        "web",
        `{containers: [{name: c, image: "app:1", env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}], ports: [{containerPort: 80}], readinessProbe: {initialDelaySeconds: 3000, tcpSocket: {port: 80}}}]}`,
      ),
    breaks: (cluster) => cluster.kubectl("delete configmap settings"),
    ask: "deployment/web",
    cause: "readiness-probe-pending",
    says: /has not succeeded yet; the first one comes 3000 s after the start/,
  },
  {
    title: "a claim whose volumes of the same class are made by hand, and have another access mode",
    yaml: `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {storageClassName: manual, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: manual, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
`,
    ask: "pvc/data",
    cause: "no-volume-fits",
    says: /volume disk has ReadWriteOnce and not ReadWriteMany/,
  },
  {
    title: "a quota that has no room for a ReplicaSet",
    yaml:
      `
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {count/replicasets.apps: "0"}}
` + deployment("web", ONE),
    ask: "deployment/web",
    cause: "quota-exceeded",
    says: /ResourceQuota default\/small does not allow its ReplicaSet: requested: count\/replicasets\.apps=1/,
  },
  {
    title: "a rollout whose ReplicaSet a webhook that is down keeps from being created",
    yaml: deployment("web", ONE),
    breaks: async (cluster) => {
      await cluster.apply(webhook("CREATE", "apps", "replicasets"))
      await cluster.kubectl("set image deployment/web c=app:2")
    },
    ask: "deployment/web",
    cause: "webhook-down",
    says: /guard\.example\.com must be asked about its ReplicaSet and cannot be reached/,
  },
  {
    title: "a namespace whose objects a webhook that is down keeps from being deleted",
    yaml: `
apiVersion: v1
kind: Namespace
metadata: {name: team}
${configMap("settings").replace("name: settings", "name: settings, namespace: team")}`,
    breaks: async (cluster) => {
      await cluster.apply(webhook("DELETE", "", "configmaps"))
      await cluster.kubectl("delete namespace team --wait=false")
    },
    ask: "namespace/team",
    cause: "webhook-down",
    says: /guard\.example\.com must be asked about the deletion of its objects and cannot be reached/,
  },
  {
    title: "an image with the name of an error, which does not exist",
    yaml: deployment("web", `{containers: [{name: c, image: "hub.corp/rate-limit:429"}]}`),
    ask: "deployment/web",
    cause: "image-not-found",
    says: /hub\.corp\/rate-limit:429 does not exist/,
    options: {
      nodes: 1,
      images: {
        "hub.corp/rate-limit:429": {
          pullError:
            'failed to pull and unpack image "hub.corp/rate-limit:429": failed to resolve reference "hub.corp/rate-limit:429": hub.corp/rate-limit:429: not found',
        },
      },
    },
  },
  {
    title: "an image with the name of a certificate, which needs credentials",
    yaml: deployment("web", `{containers: [{name: c, image: "hub.corp/certificate:1"}]}`),
    ask: "deployment/web",
    cause: "image-credentials",
    says: /does not give image hub\.corp\/certificate:1/,
    options: {
      nodes: 1,
      images: {
        "hub.corp/certificate:1": {
          pullError:
            "unexpected status from HEAD request to https://hub.corp/v2/certificate/manifests/1: 403 Forbidden",
        },
      },
    },
  },
  {
    title: "a program that goes on without a port of its own, and fails of something else",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    cause: "exits-with-error",
    says: /its last line: fatal: the licence has ended/,
    options: {
      nodes: 1,
      images: { "app:1": quits("warning: listen EADDRINUSE 9090", "connected", "fatal: the licence has ended") },
    },
  },
  {
    title: "a program that lacks a right, and perhaps fails of something else",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    cause: "right-missing",
    sure: false,
    says: /needs list on configmaps/,
    options: {
      nodes: 1,
      images: {
        "app:1": quits(
          'configmaps is forbidden: User "system:serviceaccount:default:default" cannot list resource "configmaps" in API group "" in the namespace "default"',
          "panic: assignment to entry in nil map",
          "goroutine 1 [running]:",
          "main.main()",
        ),
      },
    },
  },
  {
    title: "a program whose log ends with the stack of its error",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    cause: "address-in-use",
    sure: true,
    says: /its port is taken/,
    options: {
      nodes: 1,
      images: {
        "app:1": quits(
          "Error: listen EADDRINUSE: address already in use :::80",
          "    at Server.listen (node:net:1)",
          "  code: 'EADDRINUSE'",
          "}",
          "Node.js v22.1.0",
        ),
      },
    },
  },
  {
    title: "a policy that lets a pod reach its database at every port, but no DNS",
    yaml: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: out}
spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: db}}}]}]}
${deployment("web", ONE)}`,
    ask: "deployment/web",
    cause: "network-policy",
    says: /cannot ask DNS: NetworkPolicy default\/out selects it for egress/,
    options: { nodes: 1, images: { "app:1": quits("Error: getaddrinfo EAI_AGAIN api.example.com") } },
  },
  {
    title: "a name outside of the cluster, about which DNS has no answer",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    cause: "dns-failed",
    sure: false,
    says: /DNS gave no answer for api\.example\.com/,
    options: { nodes: 1, images: { "app:1": quits("Error: getaddrinfo EAI_AGAIN api.example.com") } },
  },
  {
    title: "an autoscaler whose target is of a kind in a group that is gone",
    yaml: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: extensions/v1beta1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}
${deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 100m}}}]}`)}`,
    ask: "hpa/web",
    cause: "autoscaler-target-missing",
    says: /a kind that is not served: Deployment of extensions\/v1beta1; perhaps Deployment of apps\/v1 is meant/,
    mends: 1,
  },
  {
    title: "an init container that waits for a Service without pods",
    yaml:
      pod("web", `{initContainers: [{name: wait, image: "wait:1"}], containers: [{name: c, image: "app:1"}]}`) +
      `
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {selector: {app: db}, ports: [{port: 5432}]}
`,
    ask: "pod/web",
    cause: "service-selector",
    says: /its selector app=db matches no pod/,
    options: { nodes: 1, images: { "wait:1": { logs: ["connect to db:5432 failed: Connection refused"] } } },
  },
  {
    title: "a pod that was deleted, on a node that had not answered for a while before",
    yaml: pod("web", ONE),
    breaks: async (cluster) => {
      const fault = await cluster.faults.nodeLost("node-0")
      await cluster.advance("90s")
      await fault.end()
      await cluster.advance("1m")
      await cluster.kubectl("delete pod web")
    },
    ask: "pod/web",
    cause: "pod-missing",
    says: /^Pod default\/web does not exist any more$/,
    options: { nodes: 1 },
  },
  {
    title: "a CronJob whose time has passed, and whose deadline has not",
    yaml: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 * * * *", startingDeadlineSeconds: 7200, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:1"}]}}}}}
`,
    breaks: async (cluster) => {
      await cluster.faults.crashed("controller-manager")
      await cluster.advance("62m")
    },
    ask: "cronjob/nightly",
    cause: "cronjob-late",
    sure: false,
    says: /perhaps the controller-manager does not run/,
  },
  {
    title: "a cordoned node with a pod that crashes, which its disruption budget lets go",
    yaml:
      deployment("web", ONE) +
      `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {matchLabels: {app: web}}}
`,
    breaks: (cluster) => cluster.kubectl("cordon node-0"),
    ask: "node/node-0",
    cause: "node-cordoned",
    says: /is cordoned/,
    mends: 1,
    options: { nodes: 1, images: { "app:1": quits("no licence") } },
  },
  {
    title: "an image that does not exist, beside a container that needs a key which does not exist either",
    yaml:
      configMap("settings") +
      deployment(
        "web",
        `{containers: [{name: a, image: "none:1"}, {name: b, image: "app:1", env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: x}}}]}]}`,
      ),
    ask: "deployment/web",
    cause: "configmap-key-missing",
    also: ["image-not-found"],
    says: /ConfigMap settings has no key "x"/,
    options: { nodes: 1, images: { "none:1": { pullError: "docker.io/library/none:1: not found" } } },
  },
  {
    title: "a sidecar that is not ready, beside a program that crashes",
    yaml: deployment(
      "web",
      `{initContainers: [{name: side, image: "side:1", restartPolicy: Always, readinessProbe: {tcpSocket: {port: 81}}}], containers: [{name: main, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-probe-refused",
    also: ["exits-with-error"],
    says: /readiness probe of sidecar side asks port 81/,
    options: { nodes: 1, images: { "app:1": quits("no licence"), "side:1": { listensAfterMs: 1e9 } } },
  },
]
