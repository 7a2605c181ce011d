import { afterAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const deployment = (image: string, replicas = 1): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: ${image}}]}
`
const configMap = (name: string, data: object): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { app: "web" } }, data })

const clusters: Cluster[] = []
const cluster = async (): Promise<Cluster> => {
  const started = await startCluster({ nodes: 0 })
  clusters.push(started)
  return started
}
afterAll(() => Promise.all(clusters.map((one) => one.stop())))

describe("kubectl apply", () => {
  test("creates, leaves alone, and configures, with what was applied last in an annotation", async () => {
    const c = await cluster()
    const apply = (text: string, flags = "") => c.kubectl(`apply -f - ${flags}`, { stdin: text })
    // when the same is applied twice, and then another image
    expect(await apply(deployment("a"))).toMatchObject({ stdout: "deployment.apps/web created\n", code: 0 })
    expect(await apply(deployment("a"))).toMatchObject({ stdout: "deployment.apps/web unchanged\n" })
    expect(await apply(deployment("b"), "--dry-run=server")).toMatchObject({
      stdout: "deployment.apps/web configured (server dry run)\n",
    })
    expect(await apply(deployment("b"))).toMatchObject({ stdout: "deployment.apps/web configured\n" })
    // then
    const last = await c.kubectl("apply view-last-applied deployment/web -o json")
    expect(JSON.parse(last.stdout)).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { annotations: {}, labels: { app: "web" }, name: "web", namespace: "default" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ image: "b", name: "main" }] },
        },
      },
    })
  })

  test("keeps what others have set, and removes what it had set itself", async () => {
    // given a label of another, beside two keys of the configuration
    const c = await cluster()
    await c.kubectl("apply -f -", { stdin: configMap("web", { a: "1", b: "2" }) })
    await c.kubectl("get configmap web")
    await c.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" }, data: { c: "other" } } as never)
    // when one key leaves the configuration
    await c.kubectl("apply -f -", { stdin: configMap("web", { a: "1" }) })
    // then
    const { stdout } = await c.kubectl("get configmap web -o json")
    expect(JSON.parse(stdout).data).toEqual({ a: "1", c: "other" })
  })

  test("tells of an object that was not made by apply, and patches it", async () => {
    const c = await cluster()
    await c.kubectl("create -f -", { stdin: configMap("web", { a: "1" }) })
    expect(await c.kubectl("apply -f -", { stdin: configMap("web", { a: "2" }) })).toMatchObject({
      stdout: "configmap/web configured\n",
      stderr: expect.stringContaining("Warning: resource configmaps/web is missing the"),
    })
  })

  test("applies in the server, explains a conflict, and takes fields by force", async () => {
    const c = await cluster()
    const apply = (text: string, flags: string) => c.kubectl(`apply --server-side -f - ${flags}`, { stdin: text })
    expect(await apply(deployment("a"), "")).toMatchObject({ stdout: "deployment.apps/web serverside-applied\n" })
    const conflict = await apply(deployment("b"), "--field-manager=other")
    expect(conflict).toMatchObject({ code: 1, stdout: "" })
    expect(conflict.stderr).toStartWith('error: Apply failed with 1 conflict: conflict with "kubectl"')
    expect(conflict.stderr).toContain("command with the `--force-conflicts` flag")
    expect(await apply(deployment("b"), "--field-manager=other --force-conflicts")).toMatchObject({ code: 0 })
  })

  test("moves fields from the client's apply to the server's, so that they can be removed", async () => {
    const c = await cluster()
    await c.kubectl("apply -f -", { stdin: configMap("web", { a: "1", b: "2" }) })
    await c.kubectl("apply --server-side -f -", { stdin: configMap("web", { a: "1", b: "2" }) })
    // when
    await c.kubectl("apply --server-side -f -", { stdin: configMap("web", { a: "1" }) })
    // then
    const { stdout } = await c.kubectl("get configmap web -o json --show-managed-fields")
    const { data, metadata } = JSON.parse(stdout)
    expect(data).toEqual({ a: "1" })
    expect(metadata.managedFields.map((entry: { manager: string }) => entry.manager).sort()).toEqual([
      "kubectl",
      "kubectl-last-applied",
    ])
  })

  test.each([
    ["-l app=web", {}],
    ["--all --prune-allowlist=core/v1/ConfigMap", {}],
    ["--applyset=set", { KUBECTL_APPLYSET: "true" }],
  ])("prunes what is no longer in the configuration: %s", async (flags, variables) => {
    // given two objects of a configuration, and one that others have made
    const c = await cluster()
    const apply = (text: string) => c.kubectl(`apply -n default --prune ${flags} -f -`, { stdin: text, env: variables })
    await c.kubectl("create -f -", { stdin: configMap("others", {}) })
    await apply(`${configMap("a", { k: "v" })}\n---\n${configMap("b", { k: "v" })}`)
    // when
    const { stdout, code } = await apply(configMap("a", { k: "v" }))
    // then
    expect([stdout, code]).toEqual(["configmap/a unchanged\nconfigmap/b pruned\n", 0])
    const names = await c.kubectl("get configmap -o name")
    expect(names.stdout.split("\n").sort()).toEqual([
      "",
      "configmap/a",
      "configmap/kube-root-ca.crt",
      "configmap/others",
    ])
  })

  test("replaces by force what cannot be patched, and keeps the old object when the new one is refused", async () => {
    const c = await cluster()
    const service = (spec: object) =>
      JSON.stringify({ apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec })
    await c.kubectl("apply -f -", { stdin: service({ ports: [{ port: 80 }] }) })
    const refused = await c.kubectl("apply --force -f -", {
      stdin: service({ clusterIP: "9.9.9.9", ports: [{ port: 80 }] }),
    })
    expect(refused.stderr).toContain('The Service "web" is invalid')
    const { stdout } = await c.kubectl("get service web -o name")
    expect(stdout).toBe("service/web\n")
  })
})

describe("kubectl delete", () => {
  test("deletes by file, name and selector, and waits until all is gone", async () => {
    const c = await cluster()
    await c.kubectl("create -f -", {
      stdin: `${configMap("a", { k: "v" })}\n---\n${configMap("b", { k: "v" })}\n---\n${configMap("c", {})}`,
    })
    const text = configMap("a", { k: "v" })
    expect(await c.kubectl("delete -f - --dry-run=client", { stdin: text })).toMatchObject({
      stdout: 'configmap "a" deleted from default namespace (dry run)\n',
    })
    expect(await c.kubectl("delete -f -", { stdin: text })).toMatchObject({
      stdout: 'configmap "a" deleted from default namespace\n',
    })
    expect(await c.kubectl("delete cm a")).toMatchObject({
      stderr: 'Error from server (NotFound): configmaps "a" not found\n',
      code: 1,
    })
    expect(await c.kubectl("delete cm a --ignore-not-found")).toMatchObject({ stdout: "", code: 0 })
    expect(await c.kubectl("delete cm -l app=web -o name")).toMatchObject({ stdout: "configmap/b\nconfigmap/c\n" })
  })

  test("asks before it deletes, and does nothing without a yes", async () => {
    const c = await cluster()
    await c.kubectl("create -f -", { stdin: configMap("a", { k: "v" }) })
    const question =
      "You are about to delete the following 1 resource(s):\nconfigmap/a\nDo you want to continue? (y/N): "
    expect(await c.kubectl("delete cm a -i", { stdin: "n\n" })).toMatchObject({
      stdout: `${question}deletion is cancelled\n`,
    })
    expect(await c.kubectl("delete cm a -i", { stdin: "y\n" })).toMatchObject({
      stdout: `${question}configmap "a" deleted from default namespace\n`,
    })
  })

  test("waits for finalizers, up to its timeout, in virtual time", async () => {
    const c = await cluster()
    const held = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "held", finalizers: ["example.com/held"] } }
    await c.kubectl("create -f -", { stdin: JSON.stringify(held) })
    const before = c.now.getTime()
    expect(await c.kubectl("delete cm held --timeout=30s")).toMatchObject({
      stdout: 'configmap "held" deleted from default namespace\n',
      stderr: "error: timed out waiting for the condition on configmaps/held\n",
      code: 1,
    })
    expect(c.now.getTime() - before).toBe(30_000)
  })
})

describe("kubectl create -f", () => {
  test.each([
    ["", "must specify one of -f and -k"],
    ["-f none.yaml", 'the path "none.yaml" does not exist'],
    [
      "-f - --validate=foo",
      'invalid - validate option "foo"; must be one of: strict (or true), warn, ignore (or false)',
    ],
  ])("%p is refused: %s", async (args, message) => {
    const c = clusters[0] ?? (await cluster())
    expect(await c.kubectl(`create ${args}`, { stdin: configMap("x", {}) })).toMatchObject({
      stderr: `error: ${message}\n`,
      code: 1,
    })
  })

  test("has the server refuse unknown fields, or warn of them", async () => {
    const c = await cluster()
    const text = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, datas: {} })
    expect(await c.kubectl("create -f -", { stdin: text })).toMatchObject({
      stderr:
        'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "datas"\n',
    })
    expect(await c.kubectl("create -f - --validate=warn", { stdin: text })).toMatchObject({
      stdout: "configmap/x created\n",
      stderr: 'Warning: unknown field "datas"\n',
    })
  })
})
