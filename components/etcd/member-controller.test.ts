import { describe, expect, test } from "bun:test"
import { Node, startCluster, type Cluster } from "../cluster/testing/testing.ts"
import { formerMembers } from "./former-members.ts"
import { memberController, MEMBER_FINALIZER, type Members } from "./member-controller.ts"

/** The members of an etcd, which the controllers of servers share. */
function etcdOf(names: string[]) {
  return (nodeName: string): Members => ({
    nodeName,
    memberName: `${nodeName}-1`,
    isAlone: () => Promise.resolve(names.length === 1),
    remove(name) {
      names.splice(names.indexOf(name) >>> 0, 1)
      return Promise.resolve()
    },
  })
}
const run = (cluster: Cluster, members: Members) =>
  cluster.run(memberController(members), { user: "system:k3ts-node-role", groups: [] })
const server = (name: string) => ({ metadata: { name } })

describe("the Node of a server", () => {
  test("has the name of its member, and is kept until another server has removed the member", async () => {
    // given
    await using cluster = await startCluster({ seed: 1, nodes: 0 })
    for (const name of ["a", "b"]) await cluster.client.create(Node, server(name))
    const members = ["a-1", "b-1"]
    const of = etcdOf(members)
    await run(cluster, of("a"))
    await cluster.settle()
    const node = await cluster.client.get(Node, { name: "a" })
    expect(node.metadata).toMatchObject({
      labels: { "node-role.kubernetes.io/etcd": "true" },
      annotations: { "etcd.k3ts.io/node-name": "a-1" },
      finalizers: [MEMBER_FINALIZER],
    })
    // when it is deleted, and only its own server runs
    await cluster.client.delete(Node, { name: "a" })
    await cluster.settle()
    expect(members).toEqual(["a-1", "b-1"])
    // when another one comes
    await run(cluster, of("b"))
    await cluster.settle()
    // then
    expect(members).toEqual(["b-1"])
    expect((await cluster.client.list(Node)).items.map(({ metadata }) => metadata.name)).toEqual(["b"])
  })

  test("is deleted at once if its member is the only one, which stays", async () => {
    await using cluster = await startCluster({ seed: 1, nodes: 0 })
    await cluster.client.create(Node, server("a"))
    const members = ["a-1"]
    await run(cluster, etcdOf(members)("a"))
    await cluster.settle()
    await cluster.client.delete(Node, { name: "a" })
    await cluster.settle()
    expect(members).toEqual(["a-1"])
    expect((await cluster.client.list(Node)).items).toEqual([])
  })

  test("loses the role and the finalizer of a member once its server has no etcd, also while it is being deleted", async () => {
    // given two servers with a member, one of which is deleted while none of them runs
    await using cluster = await startCluster({ seed: 1, nodes: 0 })
    const member = {
      labels: { "node-role.kubernetes.io/etcd": "true", "node-role.kubernetes.io/control-plane": "true" },
      annotations: { "etcd.k3ts.io/node-name": "a-1" },
    }
    for (const name of ["a", "b"])
      await cluster.client.create(Node, {
        metadata: { name, ...member, finalizers: [MEMBER_FINALIZER, "example.com/other"] },
      })
    await cluster.client.create(Node, { metadata: { name: "c", finalizers: [MEMBER_FINALIZER] } })
    await cluster.client.delete(Node, { name: "c" })
    // when
    await cluster.run(formerMembers, { user: "system:k3ts-node-role", groups: [] })
    await cluster.settle()
    // then
    const nodes = (await cluster.client.list(Node)).items.map(({ metadata }) => metadata)
    expect(nodes.map(({ name, labels, finalizers }) => [name, labels, finalizers])).toEqual(
      ["a", "b"].map((name) => [name, { "node-role.kubernetes.io/control-plane": "true" }, ["example.com/other"]]),
    )
    expect(nodes.flatMap(({ annotations = {} }) => Object.keys(annotations))).not.toContain("etcd.k3ts.io/node-name")
  })
})
