import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  ConfigMap,
  Deployment,
  Namespace,
  Pod,
  ReplicaSet,
  Role,
  RoleBinding,
  Service,
  startCluster,
  type Cluster,
} from "../../components/cluster/testing/testing.ts"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 2, seed: 1 })
  await cluster.kubectl("create clusterrolebinding people --clusterrole cluster-admin --user alice --user bob")
})
afterAll(() => cluster.stop())

const kubectl = async (command: string | readonly string[], stdin = "") => {
  const { code, stdout, stderr } = await cluster.kubectl(command, { stdin })
  return `${stdout}${stderr}${code === 0 ? "" : `(${code})`}`
}
/** Leaves out what differs from run to run. */
const plain = (text: string) => text.replaceAll(/^ {2}\d+ {2}\S+/gm, "  REV TIME")

const WEB = `
  { apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: default },
    spec: { replicas: 2, selector: { matchLabels: { app: web } },
      template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: nginx }] } } } }`

describe("undo of one object's last write", () => {
  test("shows the plan, asks, and restores the fields with their owner", async () => {
    // given a Deployment whose image alice has changed, after which its controllers have written to it
    await cluster.apply(WEB)
    await cluster.advance("1m")
    const before = await cluster.get(Deployment, "web")
    await kubectl("set image deployment/web web=nginx:2 --as alice")
    await cluster.advance("1m")
    // when the write is undone, and the question is answered with no, and with yes
    const refused = await kubectl("undo deployment/web", "n\n")
    expect((await cluster.get(Deployment, "web")).spec.template.spec!.containers[0]!.image).toBe("nginx:2")
    const done = await kubectl("undo deployment/web", "y\n")
    // then the plan was shown, and the field is as it was, owned by whom it was
    expect(plain(refused)).toBe(
      [
        "Undo 1 write, of alice:",
        "  REV TIME  alice  update Deployment default/web",
        "by:",
        "  update Deployment default/web",
        '      spec.template.spec.containers[web].image: "nginx:2" → "nginx"',
        "Do it? (y/N): nothing is done",
        "(1)",
      ].join("\n"),
    )
    expect(done).toEndWith("Do it? (y/N): Deployment default/web updated\n")
    const after = await cluster.get(Deployment, "web")
    expect(after.spec).toEqual(before.spec)
    const owners = ({ metadata }: Deployment) =>
      metadata.managedFields!.filter(
        ({ subresource, manager }) => subresource !== "status" && manager !== "deployment-controller",
      )
    expect(owners(after)).toEqual(owners(before))
  })

  test("takes the ownership of fields back from an apply that changed no value", async () => {
    // given an object of which alice has applied a value that was there, after which bob has done the same
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "owned", namespace: "default" },
      data: { a: "1" },
    }
    await cluster.client.create(ConfigMap, body, { fieldManager: "first" })
    const apply = (user: string) =>
      cluster
        .contextFor(user)
        .client.patch(
          ConfigMap,
          { namespace: "default", name: "owned" },
          { type: "apply", body },
          { fieldManager: user },
        )
    await apply("alice")
    await apply("bob")
    // when alice's is undone
    const done = await kubectl("undo --user alice --yes")
    // then she owns nothing of it, and bob's apply stays
    expect(done).toContain("update ConfigMap default/owned (its fields belong to whom they belonged before)")
    const { metadata } = await cluster.get(ConfigMap, "owned")
    expect(metadata.managedFields?.map(({ manager }) => manager)).toEqual(["first", "bob"])
  })

  test("leaves what others have changed since, and tells of fields that both have changed", async () => {
    // given alice's write, and bob's to another field and to one of hers
    await cluster.client.create(ConfigMap, { metadata: { name: "both" }, data: { a: "1", b: "1", c: "1" } })
    await kubectl(["patch", "configmap", "both", "-p", '{"data":{"a":"2","b":"2"}}', "--as", "alice"])
    await kubectl(["patch", "configmap", "both", "-p", '{"data":{"b":"3","c":"3"}}', "--as", "bob"])
    const data = async () => (await cluster.get(ConfigMap, "both")).data
    // when alice's is undone, then the conflict is told and nothing is done
    const told = await kubectl("undo --user alice --yes")
    expect(told).toContain('ConfigMap default/both: data.b was changed since: "1" would be restored, it is "3"')
    expect(told).toContain("(1)")
    expect(await data()).toEqual({ a: "2", b: "3", c: "3" })
    // when conflicts are skipped, or overwritten
    expect(await kubectl("undo --user alice --since 1m --yes --skip-conflicts")).toContain("both updated")
    expect(await data()).toEqual({ a: "1", b: "3", c: "3" })
    expect(await kubectl("undo --user alice --since 1m --yes --overwrite")).toContain("both updated")
    expect(await data()).toEqual({ a: "1", b: "1", c: "3" })
  })

  test("with --dry-run changes nothing", async () => {
    await kubectl("annotate configmap both color=red --as alice")
    expect(await kubectl("undo configmap/both --dry-run")).toEndWith("ConfigMap default/both updated (dry run)\n")
    expect((await cluster.get(ConfigMap, "both")).metadata.annotations).toEqual({ color: "red" })
  })

  test("needs the rights of the writes that it makes", async () => {
    // given somebody who may only read
    await cluster.client.create(Role, {
      metadata: { name: "reader" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }],
    })
    await cluster.client.create(RoleBinding, {
      metadata: { name: "reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [{ kind: "User", name: "carol" }],
    })
    expect(await kubectl("undo configmap/both --yes --as carol")).toContain(
      'cannot update it: configmaps "both" is forbidden: User "carol" cannot update resource "configmaps"',
    )
  })
})

describe("undo of a deletion", () => {
  test("restores a Deployment with the history of its rollouts, and its pods run again", async () => {
    // given a Deployment with two revisions, which is deleted with all that it owns
    await cluster.advance("1m")
    const before = await cluster.get(Deployment, "web")
    const sets = await cluster.list(ReplicaSet)
    await cluster.delete(Deployment, "web")
    await cluster.advance("2m")
    expect(await cluster.list(Pod)).toEqual([])
    // when that is undone
    const text = await kubectl("undo deployment/web --yes")
    await cluster.advance("1m")
    // then the ReplicaSets are those that there were, adopted by the new Deployment
    const after = await cluster.get(Deployment, "web")
    expect(after.spec).toEqual(before.spec)
    expect((await cluster.list(ReplicaSet)).map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual(
      sets.map(({ metadata, spec }) => [metadata.name, spec.replicas]),
    )
    for (const { metadata } of await cluster.list(ReplicaSet))
      expect(metadata.ownerReferences![0]!.uid).toBe(after.metadata.uid!)
    expect((await cluster.list(Pod)).filter(({ status }) => status.phase === "Running")).toHaveLength(2)
    expect(text).toContain("its controller decides about it")
  })

  test("restores a namespace with what was in it", async () => {
    // given a namespace with a Service, a Deployment and a ConfigMap
    await cluster.kubectl("create namespace team")
    await cluster.apply(WEB.replace("namespace: default", "namespace: team"))
    await cluster.kubectl("expose deployment web --port 80 -n team")
    await cluster.kubectl("create configmap settings -n team --from-literal color=red")
    await cluster.advance("1m")
    const { spec } = await cluster.get(Service, "team/web")
    await cluster.delete(Namespace, "team")
    await cluster.advance("2m")
    expect(await cluster.find(Namespace, "team")).toBeUndefined()
    // when the deletion is undone
    await kubectl("undo namespace/team --yes")
    await cluster.advance("1m")
    // then it is as it was
    expect((await cluster.get(Service, "team/web")).spec.clusterIP).toBe(spec.clusterIP!)
    expect((await cluster.get(ConfigMap, "team/settings")).data).toEqual({ color: "red" })
    await cluster.waitFor(Deployment, "team/web", "condition=Available")
  })
})

test("undo --at puts a namespace back to what it was", async () => {
  // given a namespace in which objects are changed, created and deleted
  await cluster.kubectl("create namespace past")
  for (const name of ["a", "b"])
    await cluster.client.create(ConfigMap, { metadata: { name, namespace: "past" }, data: { v: "1" } })
  await cluster.advance("1m")
  await cluster.delete(ConfigMap, "past/a")
  await cluster.client.patch(ConfigMap, "past/b", { type: "merge", body: { data: { v: "2" } } })
  await cluster.client.create(ConfigMap, { metadata: { name: "c", namespace: "past" } })
  // when
  await kubectl("undo --at 30s -n past --yes")
  // then
  const found = await cluster.list(ConfigMap, { namespace: "past" })
  expect(found.map(({ metadata, data }) => [metadata.name, data?.["v"]])).toEqual([
    ["a", "1"],
    ["b", "1"],
    ["kube-root-ca.crt", undefined],
  ])
})

test("undo --at puts a namespace back that was deleted since", async () => {
  // given
  await cluster.kubectl("create namespace lost")
  await cluster.kubectl("create configmap settings -n lost --from-literal color=red")
  await cluster.advance("1m")
  await cluster.delete(Namespace, "lost")
  await cluster.advance("1m")
  expect(await cluster.find(Namespace, "lost")).toBeUndefined()
  // when
  await kubectl("undo --at 90s -n lost --yes")
  // then
  expect((await cluster.get(ConfigMap, "lost/settings")).data).toEqual({ color: "red" })
})

test("undo --apply undoes all that one apply has written, and undo of a revision that write", async () => {
  // given two applies, of two objects each
  const files = (value: string) => ({
    "a.yaml": ["one", "two"]
      .map(
        (name) =>
          `{ apiVersion: v1, kind: ConfigMap, metadata: { name: ${name}, namespace: default }, data: { v: "${value}" } }`,
      )
      .join("\n---\n"),
  })
  const apply = async (value: string) => {
    const { stdout, stderr } = await cluster.kubectl("apply -f a.yaml", { files: files(value) })
    return [stdout, stderr]
  }
  expect(await apply("1")).toEqual(["configmap/one created\nconfigmap/two created\n", ""])
  await cluster.advance("1m")
  expect(await apply("2")).toEqual(["configmap/one configured\nconfigmap/two configured\n", ""])
  const values = async () =>
    Promise.all(["one", "two"].map(async (name) => (await cluster.find(ConfigMap, name))?.data?.["v"]))
  // when the last one is undone
  await kubectl("undo --apply --yes")
  expect(await values()).toEqual(["1", "1"])
  // when one write of the first is undone by its revision
  const { revision } = cluster.history({ kind: "ConfigMap", name: "two", type: "create" }).at(-1)!
  await kubectl(`undo ${revision} --yes --overwrite`)
  expect(await values()).toEqual(["1", undefined])
})
