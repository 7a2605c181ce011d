/**
 * The official client library for JavaScript, as it is, in a process of its own: run as `bun client-node.program.ts
 * <step>` with KUBECONFIG set. It ends with 0 if the step went as it should. A process of its own, since Bun's fetch
 * takes the certificate authority from NODE_EXTRA_CA_CERTS, which is read at the start, and passes over the one that
 * the library hands to undici.
 */
import assert from "node:assert/strict"
import {
  AppsV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  makeInformer,
  PatchStrategy,
  PortForward,
  setHeaderOptions,
  VersionApi,
  Watch,
  type KubernetesObject,
  type V1ConfigMap,
  type V1Pod,
} from "@kubernetes/client-node"
import { connect, createServer, type AddressInfo } from "node:net"
import { PassThrough } from "node:stream"

const NAMESPACE = "default"
const kc = new KubeConfig()
kc.loadFromDefault()
const core = kc.makeApiClient(CoreV1Api)

const STEPS: Readonly<Record<string, () => Promise<void>>> = {
  async objects() {
    const made = await core.createNamespacedConfigMap({
      namespace: NAMESPACE,
      body: { metadata: { name: "crud", labels: { test: "crud" } }, data: { a: "1" } },
    })
    assert.ok(made.metadata?.creationTimestamp instanceof Date)
    made.data = { a: "2" }
    await core.replaceNamespacedConfigMap({ namespace: NAMESPACE, name: "crud", body: made })
    assert.deepEqual((await core.readNamespacedConfigMap({ namespace: NAMESPACE, name: "crud" })).data, { a: "2" })
    made.data = { a: "3" }
    const conflict = await core
      .replaceNamespacedConfigMap({ namespace: NAMESPACE, name: "crud", body: made })
      .catch((err: { code: number }) => err.code)
    assert.equal(conflict, 409)
    for (let i = 0; i < 5; i++)
      await core.createNamespacedConfigMap({
        namespace: NAMESPACE,
        body: { metadata: { name: `page-${i}`, labels: { test: "page" } } },
      })
    const names: string[] = []
    for (let next: string | undefined; ;) {
      const page = await core.listNamespacedConfigMap({
        namespace: NAMESPACE,
        labelSelector: "test=page",
        limit: 2,
        ...(next === undefined ? {} : { _continue: next }),
      })
      names.push(...page.items.map(({ metadata }) => metadata!.name!))
      next = page.metadata?._continue
      if (next === undefined || next === "") break
    }
    assert.deepEqual(
      names,
      Array.from({ length: 5 }, (_, i) => `page-${i}`),
    )
    await core.deleteCollectionNamespacedConfigMap({ namespace: NAMESPACE, labelSelector: "test=page" })
    await core.deleteNamespacedConfigMap({ namespace: NAMESPACE, name: "crud" })
    assert.deepEqual(
      await core
        .readNamespacedConfigMap({ namespace: NAMESPACE, name: "crud" })
        .catch((err: { code: number }) => err.code),
      404,
    )
  },
  async patches() {
    const apps = kc.makeApiClient(AppsV1Api)
    const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "web:1" }] } }
    await apps.createNamespacedDeployment({
      namespace: NAMESPACE,
      body: { metadata: { name: "web" }, spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template } },
    })
    const patch = (body: object, strategy: string) =>
      apps.patchNamespacedDeployment(
        { namespace: NAMESPACE, name: "web", body, fieldManager: "test" },
        setHeaderOptions("Content-Type", strategy),
      )
    assert.deepEqual(
      (await patch([{ op: "replace", path: "/spec/replicas", value: 2 }], PatchStrategy.JsonPatch)).spec?.replicas,
      2,
    )
    assert.deepEqual((await patch({ spec: { replicas: 3 } }, PatchStrategy.MergePatch)).spec?.replicas, 3)
    assert.partialDeepStrictEqual(
      (
        await patch(
          { spec: { template: { spec: { containers: [{ name: "c", env: [{ name: "A", value: "1" }] }] } } } },
          PatchStrategy.StrategicMergePatch,
        )
      ).spec?.template.spec?.containers,
      [{ image: "web:1", env: [{ name: "A", value: "1" }] }],
    )
    assert.deepEqual(
      (
        await patch(
          { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", labels: { by: "apply" } } },
          PatchStrategy.ServerSideApply,
        )
      ).metadata?.labels,
      { by: "apply" },
    )
    assert.deepEqual(
      (await apps.readNamespacedDeploymentScale({ namespace: NAMESPACE, name: "web" })).spec?.replicas,
      3,
    )
    const objects = KubernetesObjectApi.makeApiClient(kc)
    const read = await objects.read<KubernetesObject & { spec?: { replicas?: number } }>({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: NAMESPACE },
    })
    assert.deepEqual(read.spec?.replicas, 3)
    await objects.delete({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: NAMESPACE } })
    assert.deepEqual((await kc.makeApiClient(VersionApi).getCode()).gitVersion, "v1.36.0+k3ts")
    assert.deepEqual(
      (
        await kc
          .makeApiClient(AuthorizationV1Api)
          .createSelfSubjectAccessReview({ body: { spec: { resourceAttributes: { verb: "get", resource: "pods" } } } })
      ).status?.allowed,
      true,
    )
  },
  async watches() {
    const seen: string[] = []
    const all = Promise.withResolvers<void>()
    const controller = await new Watch(kc).watch(
      `/api/v1/namespaces/${NAMESPACE}/configmaps`,
      { labelSelector: "test=watch", allowWatchBookmarks: true },
      (type, object: V1ConfigMap) => {
        if (type === "BOOKMARK") return
        seen.push(`${type} ${object.metadata?.name} ${object.data?.["a"]}`)
        if (type === "DELETED") all.resolve()
      },
      () => undefined,
    )
    const body = { metadata: { name: "watched", labels: { test: "watch" } }, data: { a: "1" } }
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body })
    await core.replaceNamespacedConfigMap({
      namespace: NAMESPACE,
      name: "watched",
      body: { ...body, data: { a: "2" } },
    })
    await core.deleteNamespacedConfigMap({ namespace: NAMESPACE, name: "watched" })
    await all.promise
    controller.abort()
    assert.deepEqual(seen, ["ADDED watched 1", "MODIFIED watched 2", "DELETED watched 2"])
  },
  async informers() {
    const informer = makeInformer<V1Pod>(
      kc,
      `/api/v1/namespaces/${NAMESPACE}/pods`,
      () => core.listNamespacedPod({ namespace: NAMESPACE, labelSelector: "test=informer" }),
      "test=informer",
    )
    const [running, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    informer.on("update", (pod) => (pod.status?.phase === "Running" ? running.resolve() : undefined))
    informer.on("delete", () => gone.resolve())
    informer.on("error", (err: unknown) => running.reject(err as Error))
    await informer.start()
    await core.createNamespacedPod({
      namespace: NAMESPACE,
      body: {
        metadata: { name: "informed", labels: { test: "informer" } },
        spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "c", image: "a:1" }] },
      },
    })
    await running.promise
    assert.match(informer.get("informed", NAMESPACE)?.status?.podIP ?? "", /^10\./)
    await core.deleteNamespacedPod({ namespace: NAMESPACE, name: "informed" })
    await gone.promise
    assert.deepEqual(informer.list(NAMESPACE), [])
    await informer.stop()
  },
  async exec() {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    let [out, err] = ["", ""]
    stdout.on("data", (bytes: Buffer) => (out += bytes.toString()))
    stderr.on("data", (bytes: Buffer) => (err += bytes.toString()))
    const status = await new Promise<{
      status?: string
      details?: { causes?: { reason?: string; message?: string }[] }
    }>((resolve, reject) => {
      new Exec(kc)
        .exec(
          NAMESPACE,
          "web",
          "shell",
          ["sh", "-c", "read line; echo got $line; echo sorry >&2; exit 7"],
          stdout,
          stderr,
          stdin,
          false,
          resolve,
        )
        .catch(reject)
      stdin.write("this\n")
    })
    assert.deepEqual(
      { out, err, status: status.status, causes: status.details?.causes },
      { out: "got this\n", err: "sorry\n", status: "Failure", causes: [{ reason: "ExitCode", message: "7" }] },
    )
  },
  async portForward() {
    const forward = new PortForward(kc)
    const server = createServer((socket) => void forward.portForward(NAMESPACE, "web", [80], socket, null, socket))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1", () =>
        socket.write("GET / HTTP/1.0\r\n\r\n"),
      )
      let text = ""
      socket.on("data", (bytes) => {
        text += bytes.toString()
        if (!text.includes("</h1>")) return
        socket.destroy()
        resolve(text)
      })
      socket.on("error", reject)
    })
    server.close()
    assert.ok(answer.includes("200"))
  },
  async logs() {
    const stream = new PassThrough()
    const first = new Promise<string>((resolve) => stream.once("data", (bytes: Buffer) => resolve(bytes.toString())))
    const following = await new Log(kc).log(NAMESPACE, "web", "shell", stream, { follow: true })
    assert.deepEqual(await first, "hello from the log\n")
    following.abort()
  },
}

const step = STEPS[process.argv[2] ?? ""]
assert.ok(step, `expected one of ${Object.keys(STEPS).join(", ")}`)
await step()
// What the library keeps open does not matter here.
process.exit(0)
