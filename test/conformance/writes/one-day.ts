/** One virtual day of a cluster with all kinds of workloads, and the writes of its components. */
import type { ApiRequest } from "../../../components/apiserver/call/request.ts"
import { signedRequest } from "../../../pkg/pki/request/certificate-request.fixtures.ts"
import { managerOf } from "../../../pkg/apimachinery/patch/apply/track.ts"
import {
  CertificateSigningRequest,
  CronJob,
  DaemonSet,
  Deployment,
  Job,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
  startCluster,
  type Cluster,
} from "../../../components/cluster/testing/testing.ts"

/** A simulated driver of disks, which writes under its own name. */
export const DRIVER = "disk.example.com"

const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection"])

/** A write as one line: `deployment-controller kube-controller-manager: update deployments/status`. */
function lineOf({ user, verb, resource, subresource, patch, options, userAgent }: ApiRequest): string {
  const what = `${resource.plural}${resource.group.includes("events") ? ".events.k8s.io" : ""}`
  const type = patch === undefined ? "" : ` (${patch.type})`
  const who = user.name.replace("system:serviceaccount:kube-system:", "").replace(/^system:node:.*/, "system:node")
  return `${who} as ${managerOf(options.fieldManager, userAgent)}: ${verb} ${what}${subresource === undefined ? "" : `/${subresource}`}${type}`
}

const podSpec = (more: object = {}) => ({ containers: [{ name: "c", image: "nginx", ...more }] })
const template = (app: string, spec: object = podSpec()) => ({ metadata: { labels: { app } }, spec })
const selecting = (app: string, spec = podSpec()) => ({
  selector: { matchLabels: { app } },
  template: template(app, spec),
})
const CPU = { resources: { requests: { cpu: "100m" } } }

/** What a day leaves behind. */
export interface Day {
  /** How often each write was made by a component. */
  readonly writes: ReadonlyMap<string, number>
  /** The metrics of each path, in the afternoon. */
  readonly metrics: ReadonlyMap<string, string>
}

/** Runs the day, and reads the metrics at some paths. */
export async function oneDay(paths: readonly string[]): Promise<Day> {
  const writes = new Map<string, number>()
  await using cluster = await startCluster({ nodes: 3, seed: 1, csiDrivers: { [DRIVER]: {} } })
  await cluster.faults.requests({
    error(request) {
      if (WRITES.has(request.verb) && request.user.name.startsWith("system:") && request.user.name !== "system:admin") {
        const line = lineOf(request)
        writes.set(line, (writes.get(line) ?? 0) + 1)
      }
      return undefined
    },
  })
  await morning(cluster)
  await noon(cluster)
  const metrics = new Map<string, string>()
  for (const path of paths) metrics.set(path, (await cluster.kubectl(`get --raw ${path}`)).stdout)
  await evening(cluster)
  return { writes, metrics }
}

/** Everything is created. */
async function morning(cluster: Cluster): Promise<void> {
  const meta = (name: string) => ({ name, namespace: "default" })
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } },
    { apiVersion: "v1", kind: "ResourceQuota", metadata: meta("quota"), spec: { hard: { pods: "100" } } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: meta("web"),
      spec: { replicas: 2, ...selecting("web", podSpec(CPU)) },
    },
    { apiVersion: "apps/v1", kind: "DaemonSet", metadata: meta("agent"), spec: selecting("agent") },
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: meta("db"),
      spec: {
        replicas: 2,
        serviceName: "db",
        ...selecting("db"),
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      },
    },
    {
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: meta("old"),
      spec: { replicas: 1, selector: { app: "old" }, template: template("old") },
    },
    {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: meta("once"),
      spec: {
        completions: 2,
        ttlSecondsAfterFinished: 60,
        template: template("once", { restartPolicy: "Never", ...podSpec({ image: "busybox", command: ["true"] }) }),
      },
    },
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: meta("often"),
      spec: {
        schedule: "*/5 * * * *",
        jobTemplate: {
          spec: {
            template: template("often", {
              restartPolicy: "Never",
              ...podSpec({ image: "busybox", command: ["true"] }),
            }),
          },
        },
      },
    },
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: meta("web"),
      spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("web"),
      spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("balanced"),
      spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ port: 81 }] },
    },
    { apiVersion: "v1", kind: "Service", metadata: meta("outside"), spec: { ports: [{ port: 80 }] } },
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: meta("outside"),
      subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }],
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...meta("scratch"), labels: { app: "scratch" } },
      spec: {
        ...podSpec(),
        volumes: [
          {
            name: "v",
            ephemeral: {
              volumeClaimTemplate: {
                spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
              },
            },
          },
        ],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "policy" },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"] },
          ],
        },
        validations: [{ expression: "object.spec.replicas < 1000" }],
      },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: { name: "more" },
      spec: { cidrs: ["10.99.0.0/24"] },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: { ...meta("token"), annotations: { "kubernetes.io/service-account.name": "default" } },
    },
    {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: meta("old"),
      spec: {
        scaleTargetRef: { apiVersion: "v1", kind: "ReplicationController", name: "old" },
        minReplicas: 2,
        maxReplicas: 3,
      },
    },
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "disk" },
      provisioner: DRIVER,
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: meta("disk"),
      spec: { storageClassName: "disk", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: meta("disk"),
      spec: {
        ...podSpec(),
        nodeSelector: { "kubernetes.io/hostname": "node-0" },
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "disk" } }],
      },
    },
    { apiVersion: "v1", kind: "Pod", metadata: meta("lost"), spec: { ...podSpec(), nodeName: "gone" } },
    {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: meta("device"),
      spec: { spec: { devices: { requests: [{ name: "one", exactly: { deviceClassName: "none" } }] } } },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: meta("device"),
      spec: { ...podSpec(), resourceClaims: [{ name: "one", resourceClaimTemplateName: "device" }] },
    },
    { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "high" }, value: 1000 },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "more", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
      rules: [{ apiGroups: ["a.example"], resources: ["as"], verbs: ["get"] }],
    },
  ])
  await cluster.client.create(CertificateSigningRequest, {
    metadata: { name: "node" },
    spec: {
      request: signedRequest("system:node:new", "system:nodes"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "key encipherment", "client auth"],
    },
  })
  await cluster.advance("6m")
}

/** Everything is changed. */
async function noon(cluster: Cluster): Promise<void> {
  const { client } = cluster
  await client.patch(Deployment, "web", {
    type: "merge",
    body: { spec: { template: template("web", podSpec({ ...CPU, image: "nginx:2" })) } },
  })
  await client.patch(DaemonSet, "agent", {
    type: "merge",
    body: { spec: { template: template("agent", podSpec({ image: "nginx:2" })) } },
  })
  await client.patch(StatefulSet, "db", {
    type: "merge",
    body: { spec: { template: template("db", podSpec({ image: "nginx:2" })) } },
  })
  await cluster.advance("3m")
  await cluster.scale(Deployment, "web", 4)
  await cluster.scale(StatefulSet, "db", 1)
  // an owner lets pods go, and takes others
  const [pod] = await cluster.list(Pod, { labels: "app=web" })
  await client.patch(Pod, pod!, { type: "merge", body: { metadata: { labels: { app: "released" } } } })
  await cluster.advance("1m")
  await client.patch(Pod, pod!, { type: "merge", body: { metadata: { labels: { app: "web" } } } })
  await cluster.advance("1m")
  await using lost = await cluster.faults.nodeLost("node-1")
  await cluster.advance("8m")
  await lost.end()
  await cluster.advance("2m")
  // a pod of higher priority takes the place of others
  const { allocatable } = (await cluster.get(Node, "node-0")).status
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "urgent", namespace: "default" },
    spec: {
      priorityClassName: "high",
      nodeSelector: { "kubernetes.io/hostname": "node-0" },
      ...podSpec({ resources: { requests: { cpu: allocatable!["cpu"]! } } }),
    },
  })
  await cluster.advance("2m")
  await client.delete(Node, "node-2")
  await cluster.advance("2m")
}

/** Everything is deleted. */
async function evening(cluster: Cluster): Promise<void> {
  const { client } = cluster
  await client.delete(Namespace, "team")
  await client.delete(Deployment, "web", { propagationPolicy: "Foreground" })
  await client.delete(StatefulSet, "db", { propagationPolicy: "Background" })
  const [rs] = await cluster.list(ReplicaSet, {})
  if (rs !== undefined) await client.delete(ReplicaSet, rs, { propagationPolicy: "Orphan" })
  await client.delete(DaemonSet, "agent", { propagationPolicy: "Orphan" })
  await client.delete(Service, "outside")
  await client.delete(Service, "balanced")
  await client.delete(Pod, "disk")
  await client.delete(Pod, "device")
  await client.delete(ServiceAccount, "default")
  await client.delete(Secret, "token").catch(() => undefined)
  await client.delete(PodDisruptionBudget, "web")
  await client.delete(CronJob, "often")
  for (const claim of await cluster.list(PersistentVolumeClaim, {})) await client.delete(PersistentVolumeClaim, claim)
  for (const job of await cluster.list(Job, {})) await client.delete(Job, job)
  await cluster.advance("5m")
}
