import { afterAll, beforeAll, expect, test } from "bun:test"
import { Event, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 1, seed: 1, images: { broken: { pullError: "not found" } } })
})
afterAll(() => cluster.stop())

test("timeline tells in order what happened to a workload and what it depends on", async () => {
  // given a Deployment that uses a ConfigMap, with a Service, and another one that has nothing to do with it
  await cluster.kubectl("create configmap settings --from-literal color=red")
  await cluster.apply(`
    { apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: default },
      spec: { replicas: 1, selector: { matchLabels: { app: web } }, template: { metadata: { labels: { app: web } },
        spec: { containers: [{ name: web, image: nginx, envFrom: [{ configMapRef: { name: settings } }] }] } } } }`)
  await cluster.kubectl("expose deployment web --port 80")
  await cluster.kubectl("create deployment other --image nginx")
  await cluster.advance("2h")
  // when the ConfigMap is changed, and the Deployment gets an image that there is not
  await cluster.kubectl(["patch", "configmap", "settings", "-p", '{"data":{"color":"blue"}}'])
  await cluster.kubectl("set image deployment/web web=broken")
  await cluster.advance("10s")
  const { stdout, stderr, code } = await cluster.kubectl("timeline deployment/web --since 30m")
  // then the timeline has both, the new pod and why it does not run, and nothing of the other
  expect([code, stderr]).toEqual([0, ""])
  const lines = stdout.split("\n")
  const at = (text: string | RegExp) =>
    lines.findIndex((line) => (typeof text === "string" ? line.includes(text) : text.test(line)))
  const order = [
    at("update ConfigMap default/settings  by system:admin (kubectl-patch)"),
    at('data.color: "red" → "blue"'),
    at('spec.template.spec.containers[web].image: "nginx" → "broken"'),
    at(/create ReplicaSet default\/web-/),
    at(/create Pod default\/web-/),
    at(/Pod default\/web-\S+: Pending, .*on node-0/),
    at(/Warning Failed {2}Pod default\/web-\S+: Failed to pull image "broken": not found/),
  ]
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(order[0]).toBeGreaterThanOrEqual(0)
  expect(stdout).not.toContain("other")
})

test("what others have written cannot send commands to the terminal", async () => {
  // given an Event and a user's name with the sign that begins such a command
  const user = "\u001b[2Jmallory"
  await cluster.kubectl(["create", "clusterrolebinding", "mallory", "--clusterrole", "cluster-admin", "--user", user])
  await cluster.kubectl(["annotate", "deployment", "web", "a=b", "--as", user])
  const event = { kind: "Deployment", namespace: "default", name: "web" }
  await cluster.client.create(Event, { metadata: { name: "e" }, involvedObject: event, message: "\u001b[2Jhello" })
  // when
  const outputs = await Promise.all(
    [
      "timeline deployment/web",
      "history deployment/web",
      "changes --from 1m deployment/web",
      "undo deployment/web",
    ].map(async (command) => (await cluster.kubectl(command, { stdin: "n\n" })).stdout),
  )
  // then the sign is shown in its place
  expect(outputs[0]).toContain("^[[2Jhello")
  for (const output of outputs) {
    expect(output).toContain("^[[2Jmallory")
    expect(output).not.toContain("\u001b")
  }
})

test("timeline names what it may not read", async () => {
  await cluster.kubectl("create role reader --verb get,list --resource deployments.apps")
  await cluster.kubectl("create rolebinding carol --role reader --user carol")
  const { stderr, code } = await cluster.kubectl("timeline deployment/web --as carol")
  expect(code).toBe(0)
  expect(stderr).toContain('Not shown: nodes is forbidden: User "carol" cannot list resource "nodes"')
})
