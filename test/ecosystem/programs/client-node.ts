import type { Program } from "../program.ts"

/** What an operator or a tool does with the client: every kind of connection that it has. */
const SCRIPT = `import assert from "node:assert"
import { once } from "node:events"
import { connect } from "node:net"
import { PassThrough, Writable } from "node:stream"
import * as k8s from "@kubernetes/client-node"

const config = new k8s.KubeConfig()
config.loadFromDefault()
const core = config.makeApiClient(k8s.CoreV1Api)
const apps = config.makeApiClient(k8s.AppsV1Api)
const objects = k8s.KubernetesObjectApi.makeApiClient(config)
const namespace = "node-client"
const until = async (what, condition) => {
  for (const end = Date.now() + 90_000; ; await new Promise((resolve) => setTimeout(resolve, 200))) {
    if (await condition()) return
    assert(Date.now() < end, "not within its time: " + what)
  }
}
const text = () => {
  const kept = { said: "" }
  kept.stream = new Writable({ write: (bytes, _, done) => ((kept.said += bytes), done()) })
  return kept
}

await core.createNamespace({ body: { metadata: { name: namespace } } })

// An informer, as a cache for a controller.
const informer = k8s.makeInformer(config, "/apis/apps/v1/namespaces/" + namespace + "/deployments", () =>
  apps.listNamespacedDeployment({ namespace }),
)
const seen = []
for (const event of ["add", "update", "delete"]) informer.on(event, (one) => seen.push(event + " " + one.metadata.name))
const failures = []
informer.on("error", (err) => {
  failures.push(err)
  setTimeout(() => informer.start(), 500)
})
await informer.start()

// Objects of any kind, by server-side apply.
const web = (replicas) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "k3ts.local/web:1", ports: [{ containerPort: 80 }] }] },
    },
  },
})
const apply = (body) => objects.patch(body, undefined, undefined, "node-script", true, k8s.PatchStrategy.ServerSideApply)
const first = await apply(web(1))
assert.equal(first.metadata.managedFields[0].manager, "node-script")
const second = await apply(web(2))
assert.equal(second.spec.replicas, 2)
await until("two replicas", async () => (await apps.readNamespacedDeployment({ name: "web", namespace })).status.readyReplicas === 2)
assert(seen.includes("add web") && seen.includes("update web"), seen.join())
assert.equal(informer.get("web", namespace).spec.replicas, 2)

// A conflict is told as one.
const stale = { ...second, metadata: { ...second.metadata, resourceVersion: first.metadata.resourceVersion } }
await assert.rejects(apps.replaceNamespacedDeployment({ name: "web", namespace, body: stale }), (err) => err.code === 409)

// A page at a time.
const page = await core.listNamespacedPod({ namespace, limit: 1 })
assert(page.metadata._continue, "no second page")
const rest = await core.listNamespacedPod({ namespace, limit: 1, _continue: page.metadata._continue })
assert.notEqual(page.items[0].metadata.name, rest.items[0].metadata.name)

// Exec: input, both outputs, the exit code.
const pod = page.items[0].metadata.name
const [out, err] = [text(), text()]
const input = new PassThrough()
let status
const socket = await new k8s.Exec(config).exec(
  namespace, pod, "web", ["sh", "-c", "head -n 1; echo wrong >&2; exit 3"], out.stream, err.stream, input, false,
  (told) => (status = told),
)
input.write("hello\\n")
await until("the end of the command", () => status !== undefined)
assert.equal(out.said, "hello\\n")
assert.equal(err.said, "wrong\\n")
assert.equal(status.status, "Failure")
assert.equal(status.details.causes[0].message, "3")
socket.close()

// A terminal, and its size.
const screen = text()
let ended
const terminal = await new k8s.Exec(config).exec(
  namespace, pod, "web", ["sh", "-c", "test -t 0 && echo terminal; stty size"], screen.stream, null, new PassThrough(), true,
  (told) => (ended = told),
)
await until("the end of the terminal", () => ended !== undefined)
assert.match(screen.said, /terminal/)
terminal.close()

// Logs, followed.
const logs = new PassThrough()
let logged = ""
logs.on("data", (bytes) => (logged += bytes))
const body = {
  metadata: { name: "talker" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "talker", image: "k3ts.local/busybox:1", command: ["sh", "-c", "echo one; sleep 2; echo two; sleep 600"] }],
  },
}
await core.createNamespacedPod({ namespace, body })
await until("the talker", async () => (await core.readNamespacedPod({ name: "talker", namespace })).status.phase === "Running")
const follow = await new k8s.Log(config).log(namespace, "talker", "talker", logs, { follow: true })
await until("its lines", () => logged === "one\\ntwo\\n")
follow.abort()

// Ports, forwarded.
const { createServer } = await import("node:net")
const forward = new k8s.PortForward(config)
const server = createServer((connection) => void forward.portForward(namespace, pod, [80], connection, null, connection))
server.listen(0, "127.0.0.1")
await once(server, "listening")
const browser = connect(server.address().port, "127.0.0.1")
let page80 = ""
browser.on("data", (bytes) => (page80 += bytes))
browser.write("GET / HTTP/1.0\\r\\n\\r\\n")
await until("a page", () => page80.includes("200 OK"))
browser.destroy()
server.close()

// A watch, from a revision on.
const { metadata: { resourceVersion } } = await core.listNamespacedConfigMap({ namespace })
const events = []
const watch = await new k8s.Watch(config).watch(
  "/api/v1/namespaces/" + namespace + "/configmaps", { resourceVersion, allowWatchBookmarks: true },
  (type, one) => events.push(type + " " + (one.metadata?.name ?? "")), () => {},
)
await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "settings" }, data: { a: "1" } } })
await core.patchNamespacedConfigMap(
  { name: "settings", namespace, body: [{ op: "replace", path: "/data/a", value: "2" }] },
  k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.JsonPatch),
)
await core.deleteNamespacedConfigMap({ name: "settings", namespace })
await until("the events", () => ["ADDED settings", "MODIFIED settings", "DELETED settings"].every((one) => events.includes(one)))
watch.abort()

// What is not there, and what may not be.
await assert.rejects(core.readNamespacedPod({ name: "absent", namespace }), (err) => err.code === 404 && err.body.includes('pods \\\\"absent\\\\" not found'))
await assert.rejects(core.createNamespacedPod({ namespace, body: { metadata: { name: "a" }, spec: { containers: [] } } }), (err) => err.code === 422)
const { status: allowed } = await config.makeApiClient(k8s.AuthorizationV1Api).createSelfSubjectAccessReview({
  body: { spec: { resourceAttributes: { verb: "delete", resource: "nodes" } } },
})
assert.equal(allowed.allowed, true)

// Usage, as kubectl top shows it.
const metrics = new k8s.Metrics(config)
await until("usage", async () => (await metrics.getPodMetrics(namespace)).items.length > 0)
const [node] = await k8s.topNodes(core)
assert(node.CPU.Capacity > 0)

await apps.deleteNamespacedDeployment({ name: "web", namespace })
await until("the deletion", () => seen.includes("delete web"))
assert.deepEqual(failures, [])
await informer.stop()
await core.deleteNamespace({ name: namespace })
console.log("done")
process.exit(0)
`

export const clientNode: Program = {
  name: "client-node",
  from: [
    {
      kind: "npm",
      package: "@kubernetes/client-node",
      version: "1.4.0",
      integrity: "sha512-Zge3YvF7DJi264dU1b3wb/GmzR99JhUpqTvp+VGHfwZT+g7EOOYNScDJNZwXy9cszyIGPIs0VHr+kk8e95qqrA==",
    },
  ],
  shows:
    "a script with Kubernetes' own client for JavaScript: informer, server-side apply, pages, exec with input and a terminal, followed logs, forwarded ports, a watch, conflicts and refusals, usage",
  on: "node",
  async run(at) {
    at.write("script.mjs", SCRIPT)
    await at.step(
      "Running the script",
      240,
      `ln -s ${at.had.folder("@kubernetes/client-node")}/node_modules node_modules
has "$(node script.mjs)" done
kubectl wait namespace node-client --for=delete --timeout=90s`,
    )
  },
}
