/** The morning: users create everything. */
import { signedRequest } from "../../../pkg/pki/request/certificate-request.fixtures.ts"
import { CertificateSigningRequest } from "../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import type { CertificateSigningRequest as Csr } from "../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import * as a from "./objects.ts"
import { change, create, type Step } from "./step.ts"

/** A driver of volumes that nobody runs: what it would do, users do. */
const DRIVER = "disk.example.com"

export const MORNING: readonly Step[] = [
  {
    title: "Three machines join",
    seconds: 20,
    run: (users) => create(users, ["node-0", "node-1", "node-2"].map(a.node)),
  },
  {
    title: "A team gets a namespace with a quota",
    seconds: 10,
    run: (users) =>
      create(users, [
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } },
        {
          apiVersion: "v1",
          kind: "ResourceQuota",
          metadata: { name: "quota", namespace: "team" },
          spec: { hard: { pods: "10", configmaps: "10", "requests.cpu": "4" } },
        },
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", namespace: "team" }, data: { a: "1" } },
        { apiVersion: "v1", kind: "Secret", metadata: { name: "password", namespace: "team" } },
        {
          ...a.deployment("shop", 2),
          metadata: { name: "shop", namespace: "team" },
        },
        { ...a.service("shop", "shop"), metadata: { name: "shop", namespace: "team" } },
      ]),
  },
  {
    title: "A Deployment with a Service, a budget and an autoscaler",
    seconds: 15,
    run: (users) =>
      create(users, [
        a.deployment("web", 3, {}, a.podSpec(a.on("node-2"))),
        a.service("web", "web"),
        a.budget("web", "web", 2),
        a.autoscaler("web", { apiVersion: "apps/v1", kind: "Deployment" }, 2),
      ]),
  },
  {
    title: "Services of all types",
    seconds: 10,
    run: (users) =>
      create(users, [
        a.service("node-port", "web", { type: "NodePort" }),
        a.service("headless", "web", { clusterIP: "None" }),
        a.service("elsewhere", undefined, { type: "ExternalName", externalName: "example.com" }),
        a.service("outside", undefined),
        {
          apiVersion: "v1",
          kind: "Endpoints",
          metadata: { name: "outside" },
          subsets: [{ addresses: [{ ip: "198.51.100.1" }], ports: [{ port: 80 }] }],
        },
        a.service("nothing", "nothing"),
      ]),
  },
  {
    title: "A ReplicaSet, and a ReplicationController that an autoscaler enlarges",
    seconds: 25,
    run: (users) =>
      create(users, [
        a.replicaSet("set", 2, a.podSpec(a.on("node-1"))),
        {
          apiVersion: "v1",
          kind: "ReplicationController",
          metadata: { name: "old" },
          spec: { replicas: 1, selector: { app: "old" }, template: a.template("old") },
        },
        a.autoscaler("old", { apiVersion: "v1", kind: "ReplicationController" }, 2),
      ]),
  },
  {
    title: "StatefulSets with static volumes",
    seconds: 25,
    run: (users) =>
      create(users, [
        a.storageClass("static", "kubernetes.io/no-provisioner"),
        ...["static-0", "static-1", "static-2", "static-3"].map((name) => a.volume(name, "static")),
        a.service("db", "db", { clusterIP: "None" }),
        a.statefulSet("db"),
        a.statefulSet("many", { podManagementPolicy: "Parallel", volumeClaimTemplates: [] }, a.podSpec(a.on("node-1"))),
      ]),
  },
  { title: "A DaemonSet", seconds: 10, run: (users) => create(users, [a.daemonSet("agent")]) },
  {
    title: "Jobs of all modes",
    seconds: 35,
    run: (users) =>
      create(users, [
        a.job("once", "succeeded", { completions: 3, parallelism: 2 }),
        a.job("indexed", "succeeded", { completions: 2, parallelism: 2, completionMode: "Indexed" }),
        a.job("queue", "succeeded", { parallelism: 2 }),
        a.job("failing", "failed", { backoffLimit: 1 }),
        a.job("short", "succeeded", { ttlSecondsAfterFinished: 5 }),
        a.job("waiting", "succeeded", { suspend: true }),
        a.job("policy", "failed", {
          podFailurePolicy: {
            rules: [{ action: "FailJob", onExitCodes: { containerName: "c", operator: "In", values: [1] } }],
          },
        }),
        a.job("enough", "succeeded", {
          completions: 3,
          parallelism: 1,
          completionMode: "Indexed",
          successPolicy: { rules: [{ succeededCount: 1 }] },
        }),
        a.job("by-index", "failed", {
          completions: 2,
          parallelism: 2,
          completionMode: "Indexed",
          backoffLimitPerIndex: 0,
        }),
        {
          ...a.job("deadline", "succeeded", { activeDeadlineSeconds: 4 }),
          spec: { activeDeadlineSeconds: 4, template: a.template("deadline", a.podSpec({ restartPolicy: "Never" })) },
        },
      ]),
  },
  {
    title: "A suspended Job goes on",
    seconds: 15,
    run: async (users) => void (await change(users, Job, "waiting", { spec: { suspend: false } })),
  },
  {
    title: "A CronJob of every minute",
    seconds: 75,
    run: (users) =>
      create(users, [
        {
          apiVersion: "batch/v1",
          kind: "CronJob",
          metadata: { name: "often" },
          spec: {
            schedule: "* * * * *",
            successfulJobsHistoryLimit: 1,
            jobTemplate: { spec: { template: a.jobTemplate("often", "succeeded") } },
          },
        },
      ]),
  },
  {
    title: "Claims of all kinds, some of them used by pods",
    seconds: 25,
    run: (users) =>
      create(users, [
        a.storageClass("late", "kubernetes.io/no-provisioner", { volumeBindingMode: "WaitForFirstConsumer" }),
        a.storageClass("driver", DRIVER, { allowVolumeExpansion: true }),
        a.storageClass("driven", DRIVER, { allowVolumeExpansion: true }),
        { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: DRIVER }, spec: {} },
        csiNode("node-0"),
        a.volume("late-0", "late"),
        a.claim("late", "late"),
        a.pod("late", a.mounting("late")),
        a.claim("waiting", "static", { resources: { requests: { storage: "5Gi" } } }),
        a.claim("asked", "driven"),
        csiVolume("disk", "driver"),
        a.claim("disk", "driver"),
        a.pod("disk", a.mounting("disk")),
        a.volume("returned", "static", { claimRef: { namespace: "default", name: "returned" } }),
        a.claim("returned", "static"),
      ]),
  },
  {
    title: "A claim grows",
    seconds: 10,
    run: async (users) =>
      void (await change(users, PersistentVolumeClaim, "disk", {
        spec: { resources: { requests: { storage: "2Gi" } } },
      })),
  },
  {
    title: "Pods with volumes and claims of their own",
    seconds: 10,
    run: (users) =>
      create(users, [
        a.volume("own-0", "own"),
        a.storageClass("own", "kubernetes.io/no-provisioner"),
        a.pod("scratch", {
          volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: a.claimSpec("own") } } }],
        }),
        {
          apiVersion: "resource.k8s.io/v1",
          kind: "ResourceClaimTemplate",
          metadata: { name: "device" },
          spec: { spec: { devices: { requests: [{ name: "one", exactly: { deviceClassName: "none" } }] } } },
        },
        a.pod("device", { resourceClaims: [{ name: "one", resourceClaimTemplateName: "device" }] }),
      ]),
  },
  {
    title: "Certificates are requested, approved and denied",
    seconds: 10,
    async run(users) {
      await create(users, [
        a.certificateRequest(
          "kubelet",
          signedRequest("system:node:node-9", "system:nodes"),
          "kubernetes.io/kube-apiserver-client-kubelet",
        ),
        a.certificateRequest("user", signedRequest("jane", "developers"), "kubernetes.io/kube-apiserver-client"),
        a.certificateRequest("stranger", signedRequest("joe", "others"), "kubernetes.io/kube-apiserver-client"),
      ])
      await decide(users, "user", "Approved")
      await decide(users, "stranger", "Denied")
    },
  },
  {
    title: "Accounts, tokens, roles, policies and ranges",
    seconds: 10,
    run: (users) =>
      create(users, [
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } },
        {
          apiVersion: "v1",
          kind: "Secret",
          type: "kubernetes.io/service-account-token",
          metadata: { name: "robot", annotations: { "kubernetes.io/service-account.name": "robot" } },
        },
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRole",
          metadata: { name: "more", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
          rules: [{ apiGroups: ["a.example.com"], resources: ["as"], verbs: ["get"] }],
        },
        policy("good", "object.spec.replicas < 1000"),
        policy("bad", "object.spec.replicsa < 1000"),
        {
          apiVersion: "networking.k8s.io/v1",
          kind: "ServiceCIDR",
          metadata: { name: "more" },
          spec: { cidrs: ["10.98.0.0/24"] },
        },
        { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "high" }, value: 1000 },
        { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "low" }, value: -1000 },
        {
          apiVersion: "storage.k8s.io/v1",
          kind: "VolumeAttributesClass",
          metadata: { name: "fast" },
          driverName: DRIVER,
          parameters: { a: "1" },
        },
        {
          apiVersion: "v1",
          kind: "Secret",
          type: "bootstrap.kubernetes.io/token",
          metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
          stringData: { "token-id": "abcdef", "token-secret": "0123456789abcdef", expiration: "2020-01-01T00:00:00Z" },
        },
      ]),
  },
]

const csiNode = (name: string) => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "CSINode",
  metadata: { name },
  spec: { drivers: [{ name: DRIVER, nodeID: name, topologyKeys: [] }] },
})

const csiVolume = (name: string, storageClassName: string) => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: {
    storageClassName,
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    persistentVolumeReclaimPolicy: "Retain",
    csi: { driver: DRIVER, volumeHandle: name },
  },
})

const policy = (name: string, expression: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"] }],
    },
    validations: [{ expression }],
  },
})

async function decide(users: Client, name: string, type: "Approved" | "Denied"): Promise<void> {
  const request: Csr = await users.get(CertificateSigningRequest, { name })
  const condition = { type, status: "True", reason: "Decided", message: "by a user" }
  await users.updateSubresource(CertificateSigningRequest, { name }, "approval", {
    ...request,
    status: { ...request.status, conditions: [condition] },
  })
}
