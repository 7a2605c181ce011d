import { describe, expect, test } from "bun:test"
import { startCluster } from "../testing.ts"

describe("cluster.why", () => {
  test("tells the chain from an object to its cause, and what mends it, as data and as text", async () => {
    // given a Deployment whose pods want a label that no node has
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: "web:1"}]}}
`)
    await cluster.advance("1m")

    // when a test asks why, of it and of the cluster
    const why = await cluster.why("deployment/web")
    const all = await cluster.why()

    // then both name the one cause
    const [found] = why.findings
    expect(why.state).toBe("unwell")
    expect(found?.cause.code).toBe("node-selector")
    expect(found?.chain.map(({ object }) => object.kind)).toEqual(["Deployment", "ReplicaSet", "Pod"])
    expect(String(why)).toContain("kubectl label node node-0 --overwrite disk=ssd")
    expect(all.groups.map(({ cause }) => cause.code)).toEqual(["node-selector"])
    expect(String(all)).toStartWith("One cause of what is unwell")
  })

  test("is about any kind and namespace, and fails for a kind that does not exist", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    expect((await cluster.why("node/node-0")).state).toBe("healthy")
    expect((await cluster.why("configmap/none", { namespace: "kube-system" })).findings[0]?.cause.message).toBe(
      "ConfigMap kube-system/none does not exist",
    )
    const refusal = await cluster.why("gizmo/a").then(
      () => undefined,
      (err: Error) => err.message,
    )
    expect(refusal).toContain('the server has no kind "gizmo"')
  })
})
