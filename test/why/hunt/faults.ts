/** The ways in which the hunt breaks a cluster that is well. */
import type { Cluster } from "../../../components/cluster/testing/testing.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { between, pick } from "../../hunt/chance.ts"
import type { App } from "./healthy.ts"

/** What a fault has done. */
export interface Broken {
  /** The codes of which the first cause must have one. */
  readonly expected: readonly string[]
  /** What is asked about. */
  readonly ask: string
}

export interface Fault {
  readonly name: string
  apply(cluster: Cluster, app: App, random: Random): Promise<Broken>
}

/** Runs a command of kubectl in the namespace of an application. */
async function run(cluster: Cluster, { namespace }: App, words: readonly string[]): Promise<void> {
  const { code, stderr } = await cluster.kubectl([...words, "-n", namespace])
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`)
}

const patch = (cluster: Cluster, app: App, podSpec: object) =>
  run(cluster, app, ["patch", "deployment", app.name, "-p", JSON.stringify({ spec: { template: { spec: podSpec } } })])
const container = (more: object) => ({ containers: [{ name: "main", ...more }] })
const deployment = (app: App, ...expected: readonly string[]): Broken => ({
  expected,
  ask: `deployment/${app.name} -n ${app.namespace}`,
})
const service = (app: App, ...expected: readonly string[]): Broken => ({
  expected,
  ask: `service/${app.name} -n ${app.namespace}`,
})

/** Rolls out an image that behaves in some way. */
function rollOut(name: string, behaviour: Parameters<Cluster["setImage"]>[1], ...codes: readonly string[]): Fault {
  return {
    name,
    async apply(cluster, app) {
      cluster.setImage("broken:1", behaviour)
      await run(cluster, app, ["set", "image", `deployment/${app.name}`, "main=broken:1"])
      return deployment(app, ...codes)
    },
  }
}

/** Changes the pods of a Deployment. */
const change = (name: string, podSpec: object, ...codes: readonly string[]): Fault => ({
  name,
  async apply(cluster, app) {
    await patch(cluster, app, podSpec)
    return deployment(app, ...codes)
  },
})

/** Applies an object, and then has the Deployment make new pods. */
const guarded = (name: string, manifest: (app: App) => string, ...codes: readonly string[]): Fault => ({
  name,
  async apply(cluster, app) {
    await cluster.apply(manifest(app))
    await run(cluster, app, ["rollout", "restart", `deployment/${app.name}`])
    return deployment(app, ...codes)
  },
})

const pull = (error: string) => ({ pullError: `rpc error: code = Unknown desc = ${error}` })
const says = (...logs: string[]) => ({ runsMs: 200, exitCode: 1, logs })

export const FAULTS: readonly Fault[] = [
  rollOut(
    "image does not exist",
    pull("failed to resolve reference: docker.io/library/broken:1: not found"),
    "image-not-found",
  ),
  rollOut(
    "image needs credentials",
    pull("unexpected status from HEAD request: 401 Unauthorized"),
    "image-credentials",
  ),
  rollOut("registry is slow", pull("dial tcp 10.0.0.1:443: i/o timeout"), "registry-unreachable"),
  rollOut("rate limit", pull("429 Too Many Requests: toomanyrequests"), "image-rate-limited"),
  rollOut("program fails", { runsMs: 300, exitCode: 7, logs: ["no"] }, "exits-with-error"),
  rollOut("program ends", { runsMs: 300, exitCode: 0 }, "command-ends"),
  rollOut("program crashes", { runsMs: 300, exitCode: 139 }, "ended-by-signal"),
  rollOut("shell finds no command", { runsMs: 10, exitCode: 127, logs: ["sh: x: not found"] }, "command-not-found"),
  rollOut(
    "no such program",
    { startError: 'exec: "/x": stat /x: no such file or directory: unknown' },
    "command-not-found",
  ),
  rollOut("name is wrong", says("getaddrinfo ENOTFOUND no-such-service"), "name-not-found"),
  rollOut("certificate expired", says("x509: certificate has expired or is not yet valid"), "certificate-expired"),
  rollOut("port is taken", says("listen tcp :8080: bind: address already in use"), "address-in-use"),
  {
    name: "out of memory",
    async apply(cluster, app) {
      cluster.setImage("broken:1", { memoryBytes: 500 * 2 ** 20 })
      await patch(cluster, app, container({ image: "broken:1", resources: { limits: { memory: "128Mi" } } }))
      return deployment(app, "oom-killed")
    },
  },
  {
    name: "readiness answers an error",
    async apply(cluster, app, random) {
      const status = pick(random, [404, 500, 503])
      cluster.setImage("broken:1", { http: () => new Response("", { status }) })
      const readinessProbe = { httpGet: { port: 8080, path: "/up" }, tcpSocket: null }
      await patch(cluster, app, container({ image: "broken:1", readinessProbe, livenessProbe: null }))
      return deployment(app, status === 404 ? "readiness-probe-path" : "readiness-probe-status")
    },
  },
  {
    name: "liveness answers an error",
    async apply(cluster, app) {
      cluster.setImage("broken:1", { http: () => new Response("", { status: 500 }) })
      const livenessProbe = { httpGet: { port: 8080, path: "/alive" } }
      await patch(cluster, app, container({ image: "broken:1", readinessProbe: null, livenessProbe }))
      return deployment(app, "liveness-probe-status")
    },
  },
  {
    name: "init container fails",
    async apply(cluster, app) {
      cluster.setImage("broken-init:1", { runsMs: 10, exitCode: 2, logs: ["no schema"] })
      await patch(cluster, app, { initContainers: [{ name: "schema", image: "broken-init:1" }] })
      return deployment(app, "exits-with-error")
    },
  },
  {
    name: "ConfigMap is gone",
    async apply(cluster, app) {
      await run(cluster, app, ["delete", "configmap", `${app.name}-config`])
      await run(cluster, app, ["rollout", "restart", `deployment/${app.name}`])
      return deployment(app, "configmap-missing")
    },
  },
  {
    name: "key is gone",
    async apply(cluster, app) {
      await run(cluster, app, ["patch", "configmap", `${app.name}-config`, "-p", '{"data":{"mode":null}}'])
      await run(cluster, app, ["rollout", "restart", `deployment/${app.name}`])
      return deployment(app, "configmap-key-missing")
    },
  },
  change("Secret is missing", container({ envFrom: [{ secretRef: { name: "nowhere" } }] }), "secret-missing"),
  change("node selector", { nodeSelector: { disk: "nvme" } }, "node-selector"),
  change("too much CPU", container({ resources: { requests: { cpu: "64" } } }), "insufficient-cpu"),
  change(
    "too much memory",
    container({ resources: { requests: { memory: "900Gi" }, limits: null } }),
    "insufficient-memory",
  ),
  change("runs as root", { securityContext: { runAsNonRoot: true } }, "runs-as-root"),
  change("scheduler does not exist", { schedulerName: "other" }, "no-such-scheduler"),
  change("account is missing", { serviceAccountName: "nobody" }, "service-account-missing"),
  change("gate", { readinessGates: [{ conditionType: "example.com/ready" }] }, "readiness-gate"),
  {
    name: "host port on too few nodes",
    async apply(cluster, app) {
      await run(cluster, app, ["scale", `deployment/${app.name}`, `--replicas=${cluster.nodes.length + 1}`])
      await patch(cluster, app, container({ ports: [{ name: "http", containerPort: 8080, hostPort: 8081 }] }))
      return deployment(app, "host-port-taken")
    },
  },
  {
    name: "anti-affinity on too few nodes",
    async apply(cluster, app) {
      const labelSelector = { matchLabels: { app: app.name } }
      const term = { topologyKey: "kubernetes.io/hostname", labelSelector }
      await run(cluster, app, ["scale", `deployment/${app.name}`, `--replicas=${cluster.nodes.length + 1}`])
      await patch(cluster, app, {
        affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
      })
      return deployment(app, "pod-anti-affinity")
    },
  },
  {
    name: "all nodes are cordoned",
    async apply(cluster, app) {
      for (const node of cluster.nodes) await cluster.cordon(node)
      await run(cluster, app, ["scale", `deployment/${app.name}`, `--replicas=${app.replicas + 2}`])
      return deployment(app, "node-cordoned")
    },
  },
  {
    name: "all nodes are tainted",
    async apply(cluster, app) {
      for (const node of cluster.nodes) await run(cluster, app, ["taint", "nodes", node, "only=gpu:NoSchedule"])
      await run(cluster, app, ["scale", `deployment/${app.name}`, `--replicas=${app.replicas + 2}`])
      return deployment(app, "taint-not-tolerated")
    },
  },
  {
    name: "a node is lost",
    async apply(cluster, _app, random) {
      const node = pick(random, cluster.nodes)
      await cluster.faults.nodeLost(node)
      return { expected: ["node-not-ready"], ask: `node/${node}` }
    },
  },
  {
    name: "selector of the Service",
    async apply(cluster, app, random) {
      const selector = pick(random, [{ app: `${app.name}s` }, { tier: "front" }])
      await run(cluster, app, ["patch", "service", app.name, "-p", JSON.stringify({ spec: { selector } })])
      return service(app, "service-selector")
    },
  },
  {
    name: "port name of the Service",
    async apply(cluster, app) {
      const change = [{ op: "replace", path: "/spec/ports/0/targetPort", value: "grpc" }]
      await run(cluster, app, ["patch", "service", app.name, "--type=json", "-p", JSON.stringify(change)])
      return service(app, "service-target-port-name")
    },
  },
  {
    name: "Deployment is scaled to nothing",
    async apply(cluster, app) {
      await run(cluster, app, ["scale", `deployment/${app.name}`, "--replicas=0"])
      return service(app, "scaled-to-zero")
    },
  },
  {
    name: "policy closes the pods",
    async apply(cluster, app) {
      await cluster.apply(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: ${app.namespace}}
spec: {podSelector: {matchLabels: {app: ${app.name}}}, policyTypes: [Ingress]}
`)
      return service(app, "network-policy")
    },
  },
  {
    name: "Ingress leads nowhere",
    async apply(cluster, app, random) {
      const [backend, code] = pick(random, [
        [`{name: ${app.name}x, port: {number: 80}}`, "ingress-service-missing"],
        [`{name: ${app.name}, port: {number: 81}}`, "ingress-service-port"],
      ] as const)
      await cluster.apply(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front, namespace: ${app.namespace}}
spec: {ingressClassName: k3ts, defaultBackend: {service: ${backend}}}
`)
      return { expected: [code], ask: `ingress/front -n ${app.namespace}` }
    },
  },
  {
    name: "rollout is paused",
    async apply(cluster, app) {
      await run(cluster, app, ["rollout", "pause", `deployment/${app.name}`])
      await run(cluster, app, ["set", "env", `deployment/${app.name}`, "MORE=1"])
      return deployment(app, "rollout-paused")
    },
  },
  guarded(
    "quota",
    ({ namespace }) =>
      `apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: ${namespace}}\nspec: {hard: {pods: "1"}}`,
    "quota-exceeded",
  ),
  {
    name: "LimitRange",
    async apply(cluster, app) {
      const { namespace } = app
      await cluster.apply(
        `apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: ${namespace}}\nspec: {limits: [{type: Container, max: {cpu: "1"}}]}`,
      )
      await patch(cluster, app, container({ resources: { requests: { cpu: "100m" }, limits: { cpu: "2" } } }))
      return deployment(app, "limit-range")
    },
  },
  {
    name: "Pod Security",
    async apply(cluster, app) {
      await cluster.kubectl(`label namespace ${app.namespace} pod-security.kubernetes.io/enforce=restricted`)
      await run(cluster, app, ["rollout", "restart", `deployment/${app.name}`])
      return deployment(app, "pod-security")
    },
  },
  guarded(
    "webhook is down",
    () => `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks: [{name: guard.example.com, clientConfig: {service: {name: guard, namespace: default}}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}], admissionReviewVersions: [v1], sideEffects: None}]`,
    "webhook-down",
  ),
  {
    name: "claim of a class that does not exist",
    async apply(cluster, { namespace }) {
      await cluster.apply(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: ${namespace}}
spec:
  serviceName: store
  selector: {matchLabels: {app: store}}
  template: {metadata: {labels: {app: store}}, spec: {containers: [{name: c, image: "store:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: premium, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`)
      return { expected: ["storage-class-missing"], ask: `statefulset/store -n ${namespace}` }
    },
  },
  {
    name: "CronJob is suspended",
    async apply(cluster, { namespace }) {
      await cluster.apply(cronJob(namespace, "suspend: true"))
      return { expected: ["cronjob-suspended"], ask: `cronjob/nightly -n ${namespace}` }
    },
  },
  {
    name: "Job fails",
    async apply(cluster, { namespace }, random) {
      cluster.setImage("task:1", { runsMs: 100, exitCode: between(random, 1, 9), logs: ["bad input"] })
      await cluster.apply(
        `apiVersion: batch/v1\nkind: Job\nmetadata: {name: task, namespace: ${namespace}}\nspec: {backoffLimit: ${between(random, 0, 2)}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "task:1"}]}}}`,
      )
      return { expected: ["exits-with-error"], ask: `job/task -n ${namespace}` }
    },
  },
  {
    name: "namespace is held",
    async apply(cluster) {
      await cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: old}")
      await cluster.apply(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: old, finalizers: [example.com/x]}",
      )
      await cluster.kubectl("delete namespace old --wait=false")
      return { expected: ["held-by-finalizer"], ask: "namespace/old" }
    },
  },
]

const cronJob = (namespace: string, more: string): string => `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: ${namespace}}
spec: {schedule: "* * * * *", ${more}, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "task:1"}]}}}}}
`
