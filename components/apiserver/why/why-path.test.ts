import { describe, expect, test } from "bun:test"
import { startCluster } from "../../cluster/testing/testing.ts"

const STUCK = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: "app:1"}]}
`

describe("GET /k3ts/why", () => {
  test("tells why an object is not well, and what in the cluster is not", async () => {
    // given a pod that no node takes
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(STUCK)
    await cluster.advance("10s")

    // when an administrator asks
    const one = await cluster.kubectl("get --raw /k3ts/why/pod/web?namespace=default")
    const all = await cluster.kubectl("get --raw /k3ts/why")

    // then the answers are those of k3ts why
    expect(JSON.parse(one.stdout)).toMatchObject({
      state: "unwell",
      object: { kind: "Pod", name: "web", namespace: "default" },
      findings: [{ cause: { code: "node-selector" } }],
    })
    expect(JSON.parse(all.stdout)).toMatchObject({ state: "unwell", groups: [{ cause: { code: "node-selector" } }] })
  })

  test.each(["%25zz", "%25", "pod%252Fweb"])("reads the escapes of the path %p once", async (words) => {
    await using cluster = await startCluster({ nodes: 0 })
    const { stderr } = await cluster.kubectl(`get --raw /k3ts/why/${words}`)
    expect(stderr).toContain("Error from server (NotFound)")
  })

  test("needs a right of its own, and shows no more than its sender may read", async () => {
    // given a user who may ask why, and read pods but no nodes
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(STUCK)
    await cluster.advance("10s")
    const asking = "get --raw /k3ts/why/pod/web?namespace=default --as=jane"
    const before = await cluster.kubectl(asking)
    await cluster.kubectl("create clusterrole why --verb=get --non-resource-url=/k3ts/why/*")
    await cluster.kubectl("create clusterrolebinding why --clusterrole=why --user=jane")
    const without = await cluster.kubectl(asking)
    await cluster.kubectl("create role pods --verb=get,list --resource=pods")
    await cluster.kubectl("create rolebinding pods --role=pods --user=jane")

    // when the user asks
    const after = await cluster.kubectl(asking)

    // then without the right the request is refused, and with it the answer has what the user may read
    expect(before.stderr).toContain('User "jane" cannot get path "/k3ts/why/pod/web"')
    expect(JSON.parse(without.stdout)).toMatchObject({
      state: "unknown",
      findings: [],
      unknown: [expect.stringContaining('User "jane" cannot get resource "pods"')],
    })
    expect(JSON.parse(after.stdout)).toMatchObject({
      state: "unknown",
      findings: [],
      unknown: [expect.stringContaining('User "jane" cannot list resource "nodes"')],
    })
  })

  test("refuses what is no kind, and other methods than GET", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    expect((await cluster.kubectl("get --raw /k3ts/why/gizmo/a")).stderr).toContain('the server has no kind "gizmo"')
    expect((await cluster.kubectl("delete --raw /k3ts/why/pod/a")).stderr).toContain("MethodNotAllowed")
  })
})
