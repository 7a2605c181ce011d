/** What a block of the documentation leaves out, so that it stays short to read. */
export interface Given {
  /** A part of the block's text, which no other block has. */
  readonly block: string
  /** What is there before; by default a cluster of three nodes with the objects of `files/chart`. */
  readonly given?: string
  /** What must hold afterwards. */
  readonly after?: string
}

/** A message that a page shows, and the code that returns it. `…` in the page stands for anything. */
export interface Printed {
  readonly block: string
  readonly by: string
}

const WAITING_POD = `{ metadata: { name: "web-0" }, spec: { containers: [{ name: "web", image: "web", resources: { requests: { cpu: "64" } } }] } }`
const SEALER = `{ name: "sealer", reconciles: ConfigMap, concerns: ({ metadata }: ConfigMap) => metadata.name === "a" }`
const NOTHING_TO_DO = `defineController({ name: "nothing", reconciles: ConfigMap, reconcile: async () => {} })`
const RIGHTS = (user: string, kind: "User" | "Group") =>
  `await cluster.client.create(ClusterRoleBinding, { metadata: { name: ${JSON.stringify(user)} }, ` +
  `roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" }, ` +
  `subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "${kind}", name: ${JSON.stringify(user)} }] })`

const SIZES = (bug: number) =>
  `defineController<ConfigMap>({ name: "sizes", reconciles: ConfigMap, concerns: ({ metadata }) => metadata.name === "size",
  reconcile: async (key, { client, informers }) => {
    const size = informers.of(ConfigMap).get(key)
    if (size === undefined) return
    const body = { spec: { replicas: Number(size.data?.["replicas"]) + ${bug} } }
    await client.patch(Deployment, { namespace: "default", name: "web" }, { type: "merge", body })
  } })`

export const GIVEN: readonly Given[] = [
  {
    block: `replay: { file: "incident.k3ts", instead`,
    given: `const user = "system:serviceaccount:shop:operator"
const wrong = ${SIZES(1)}
{
  await using real = await startCluster({ nodes: 3 })
  await real.apply("chart/")
  await real.advance("2m")
  await real.run(wrong, { user, groups: ["system:masters"] })
  await real.advance("1m")
  await real.client.create(ConfigMap, { metadata: { name: "size" }, data: { replicas: "3" } })
  await real.advance("1m")
  await Bun.write("incident.k3ts", await real.recording({ last: "90s" }))
}
const operator = ${SIZES(0)}`,
    after: `await using again = await startCluster({ replay: { file: "incident.k3ts", instead: [user] } })
await again.run(wrong, { user, groups: ["system:masters"] })
expect(await again.replay.ended()).toBeUndefined()
expect((await again.get(Deployment, "web")).spec.replicas).toBe(4)`,
  },
  {
    block: `await cluster.as("alice", ["developers"])`,
    given: `await using cluster = await startCluster({ nodes: 3, images: { "example.com/web": { http: () => new Response("ok") } } })
await cluster.apply("chart/")
await cluster.advance("1m")
await cluster.client.create(ConfigMap, { metadata: { name: "web" } })
${RIGHTS("developers", "Group")}
const controller = ${NOTHING_TO_DO}`,
    after: `expect(await (await cluster.fetch("http://web.default.svc/")).text()).toBe("ok")`,
  },
  {
    block: `reason: "BackOff", message: /restarting/`,
    given: `await using cluster = await startCluster({ nodes: 3, images: { "example.com/api": { runsMs: 100, exitCode: 1 } } })
await cluster.apply("chart/")
await cluster.advance("1m")`,
  },
  {
    block: `await cluster.drain(`,
    given: `await using cluster = await startCluster({ nodes: 3 })
await cluster.apply("chart/")
await cluster.advance("1m")
await cluster.client.create(Job, { metadata: { name: "nightly" }, spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "busybox", command: ["sleep", "60"] }] } } } })`,
    after: `expect([gone.length > 0, exitCode, job.status.succeeded]).toEqual([true, 0, 1])`,
  },
  {
    block: `author: "alice"`,
    given: `await using cluster = await startCluster({ nodes: 3 })
await cluster.apply("chart/")
${RIGHTS("alice", "User")}
await cluster.client.patch(Deployment, "web", { type: "merge", body: { spec: { replicas: 2 } } })
await cluster.advance("1m")
await cluster.as("alice").patch(Deployment, "web", { type: "merge", body: { spec: { replicas: 3 } } })
const printed: string[] = []
const console = { log: (text: string) => void printed.push(text) }`,
    after: `expect(printed[0]).toMatch(/^\\d+ 2026-01-01T00:01:00.000000Z alice update Deployment default\\/web: 2 of 3 ready, 2 there, Available$/)
expect(printed[1]).toContain("spec.replicas: 2 → 3")`,
  },
  {
    block: `using cluster = connect()`,
    given: `const sharing = ${NOTHING_TO_DO}
await using served = await startCluster({ clock: "real" })
const { kubeconfig } = await served.listen()
await Bun.write("kubeconfig", kubeconfig)
process.env["KUBECONFIG"] = "kubeconfig"
void served
  .eventually(Lease, { namespace: "default" }, (leases) => leases.length === 1)
  .then(() => process.emit("SIGTERM", "SIGTERM"))`,
  },
  {
    block: `runOperator(cluster.contextFor("alice"), [sharing]`,
    given: `await using cluster = await startCluster()
${RIGHTS("alice", "User")}
const sharing = ${NOTHING_TO_DO}
const ending = new AbortController()
const { signal } = ending
const leaderElection = { name: "config-sharing", namespace: "default", identity: "a" }`,
    after: `await cluster.eventually(Lease, { namespace: "default" }, (leases) => leases.length === 1)
ending.abort()`,
  },
  {
    block: `runLeaderElected({`,
    given: `await using cluster = await startCluster()
let led = false
const work = async (leading: AbortSignal) => {
  led = true
  await new Promise((resolve) => leading.addEventListener("abort", resolve))
}`,
    after: `await cluster.advance("1m")
end.abort()
await done
expect(led).toBe(true)`,
  },
  {
    block: `clockSkewed("node-1", "-1h")`,
    given: `const sharing = ${NOTHING_TO_DO}
const ending = new AbortController()
const { signal } = ending
const election = { name: "operator", namespace: "default" }`,
    after: `expect((await cluster.get(Lease, "operator")).spec.holderIdentity).toBe("node-1")
ending.abort()
await cluster.advance("1m")`,
  },
  {
    block: `pods.every(isReady)`,
    given: `await using cluster = await startCluster({ nodes: 3 })
await cluster.apply(["chart/", "manifests/nightly.yaml"])
await cluster.advanceTo("2026-01-01T23:59:30Z")
const isReady = ({ status }: Pod) => status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true`,
  },
  {
    block: `faults.mountHangs(`,
    given: `await using cluster = await startCluster({ nodes: 2, csiDrivers: { "disk.example.com": {} } })`,
    after: `await cluster.apply("manifests/database.yaml")
await cluster.eventually(async () => (await cluster.list(Event)).some(({ message }) => message?.endsWith("desc = no disk left")))`,
  },
  {
    block: `const answer = cluster.client.get(ConfigMap, ref)`,
    given: `await using cluster = await startCluster()
const ref = "a"
await cluster.client.create(ConfigMap, { metadata: { name: ref } })
await cluster.faults.requests({ verb: "get", resource: "configmaps", delay: "3s" })`,
  },
  {
    block: `{ from: "team/client" }`,
    given: `await using cluster = await startCluster({ nodes: 2 })
await cluster.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } }, "chart/"])
await cluster.client.patch(Service, "web", { type: "merge", body: { spec: { type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] } } })
await cluster.client.create(Pod, { metadata: { name: "client", namespace: "team" }, spec: { containers: [{ name: "a", image: "client" }] } })
await cluster.advance("1m")
const { podIP } = (await cluster.list(Pod, { labels: "app=web" }))[0]!.status
const nodeIP = "192.168.0.2"`,
  },
  {
    block: `faults.endpointsLag("node-0", "3s")`,
    given: `await using cluster = await startCluster({ nodes: 2, seed: 1 })
await cluster.apply("chart/")
await cluster.advance("1m")`,
  },
  { block: `"example.com/stubborn"`, given: `const load = (now: number) => (now > 0 ? 0.5 : 0)` },
  {
    block: `faults.serverLost("server-0")`,
    given: `await using cluster = await startCluster({ servers: 3, nodes: 2 })`,
  },
  {
    block: `await cluster.run(myOperator`,
    given: `await using cluster = await startCluster({ nodes: 1 })
const myOperator = defineController<Pod>({
  name: "my-operator",
  reconciles: Pod,
  async reconcile(_key, { client }) {
    await client.create(ConfigMap, { metadata: { name: "mine", namespace: "default", labels: { by: "my-operator" } } })
  },
})
await cluster.client.create(Pod, { metadata: { name: "web-0" }, spec: { containers: [{ name: "web", image: "web" }] } })`,
  },
  {
    block: `"hooks/policy/validate"`,
    after: `await expect(cluster.client.create(ConfigMap, { metadata: { name: "a" } })).rejects.toThrow("policy.example.com")
await cluster.client.create(ConfigMap, { metadata: { name: "b" }, data: { owner: "me" } })`,
  },
  {
    block: `extensionServers: {`,
    given: `const answerTo = (path: string, { name }: { readonly name: string }) =>
  path === "/apis/metrics.example.com/v1"
    ? { kind: "APIResourceList", apiVersion: "v1", groupVersion: "metrics.example.com/v1", resources: [{ name: "nodemetrics", singularName: "", namespaced: false, kind: "NodeMetrics", verbs: ["list"] }] }
    : { kind: "NodeMetricsList", apiVersion: "metrics.example.com/v1", metadata: {}, items: [{ metadata: { name } }] }`,
    after: `expect((await cluster.list(NodeMetrics)).map(({ metadata }) => metadata.name)).toEqual(["system:admin"])`,
  },
  {
    block: `mutatingAdmissionPolicyBinding`,
    given: `await using cluster = await startCluster()
const policy = { apiVersion: "admissionregistration.k8s.io/v1" }
const mutatingAdmissionPolicy = {
  ...policy,
  kind: "MutatingAdmissionPolicy",
  metadata: { name: "team" },
  spec: {
    reinvocationPolicy: "Never",
    matchConstraints: { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] }] },
    mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"team": "storage"}}}' } }],
  },
}
const mutatingAdmissionPolicyBinding = { ...policy, kind: "MutatingAdmissionPolicyBinding", metadata: { name: "team" }, spec: { policyName: "team" } }`,
  },
]

const thrownBy = (code: string): string => `return await ${code}.then(() => "", (err: Error) => err.message)`

export const PRINTED: readonly Printed[] = [
  {
    block: `What happened (`,
    by: `await using cluster = await startCluster({ nodes: 2, seed: 7, images: { web: { runsMs: 500, exitCode: 1, terminationMessage: "no database" } } })
await cluster.cordon("node-1")
await cluster.client.create(Pod, { metadata: { name: "web-0" }, spec: { containers: [{ name: "web", image: "web" }] } })
await cluster.advance("30s")
const lost = await cluster.faults.nodeLost("node-1")
await cluster.advance("90s")
await lost.end()
return String(cluster.report())`,
  },
  {
    block: `Pod default/web-0 is Pending`,
    by: `await using cluster = await startCluster({ nodes: 1, seed: 7 })
await cluster.client.create(Pod, ${WAITING_POD})
${thrownBy(`cluster.eventually(async () => (await cluster.get(Pod, "web-0")).status.phase === "Running")`)}`,
  },
  {
    block: `addNode waits for the kubelet`,
    by: `await using cluster = await startCluster({ nodes: 1, seed: 7 })
await using _down = await cluster.faults.crashed("apiserver")
${thrownBy(`cluster.addNode()`)}`,
  },
  {
    block: `controller sealer, default/a has failed`,
    by: `await using cluster = await startCluster({ seed: 7 })
const config = {} as unknown as { data: { key: string } }
await cluster.run(defineController({ ...${SEALER}, reconcile: async () => void config.data.key }))
await cluster.client.create(ConfigMap, { metadata: { name: "a" } })
${thrownBy(`cluster.eventually(Secret, {}, (secrets) => secrets.length > 0)`)}`,
  },
  {
    block: `what happens at this instant never ends`,
    by: `const cluster = await startCluster({ seed: 3 })
await cluster.advance("1m")
await cluster.run(
  defineController<ConfigMap>({
    name: "my-operator",
    reconciles: ConfigMap,
    concerns: ({ metadata }) => metadata.name === "mine",
    async reconcile(_key, { client, informers }) {
      const { data } = informers.of(ConfigMap).get("default/mine")!
      await client.patch(ConfigMap, { name: "mine", namespace: "default" }, { type: "merge", body: { data: { n: String(Number(data?.["n"]) + 1) } } })
    },
  }),
  { user: "my-operator", groups: ["system:masters"] },
)
${thrownBy(`cluster.client.create(ConfigMap, { metadata: { name: "mine" }, data: { n: "0" } }).then(() => cluster.settle())`)}`,
  },
]
