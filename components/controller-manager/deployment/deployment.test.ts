import { describe, expect, test } from "bun:test"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"

const web = (replicas: number, image = "web:1", more: object = {}) => ({
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } },
    ...more,
  },
})

const startWithNode = () => startCluster({ nodes: 1 })

describe("Deployment", () => {
  test("is written by its controller through its status only, so that no policy about it stalls a rollout", async () => {
    // given a policy by which only an administrator may change Deployments
    await using cluster = await startWithNode()
    const { client } = cluster
    const resourceRules = [
      { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["deployments"] },
    ]
    await cluster.apply([
      {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicy",
        metadata: { name: "admins" },
        spec: {
          matchConstraints: { resourceRules },
          validations: [{ expression: "request.userInfo.username == 'system:admin'" }],
        },
      },
      {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicyBinding",
        metadata: { name: "admins" },
        spec: { policyName: "admins", validationActions: ["Deny"] },
      },
    ])
    // when
    await client.create(Deployment, web(1))
    await cluster.settle()
    // then
    const { metadata, status } = await client.get(Deployment, { name: "web", namespace: "default" })
    expect(status).toMatchObject({ readyReplicas: 1, observedGeneration: 1 })
    expect(metadata.generation).toBe(1)
    expect(metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("1")
    expect(metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource])).toEqual([
      ["admin", undefined],
      ["kube-controller-manager", "status"],
    ])
  })

  test("rolls from one template to the next and keeps the old ReplicaSet", async () => {
    // given three running replicas
    await using cluster = await startWithNode()
    const { client } = cluster
    await client.create(Deployment, web(3))
    await cluster.settle()
    const before = await client.get(Deployment, { name: "web", namespace: "default" })
    expect(before.status).toMatchObject({ replicas: 3, readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3 })
    expect(before.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("1")

    // when the image changes
    await client.update(Deployment, {
      ...before,
      spec: {
        ...before.spec,
        template: {
          ...before.spec.template,
          spec: { ...before.spec.template.spec, containers: [{ name: "web", image: "web:2" }] },
        },
      },
    })
    await cluster.advance(5000)

    // then all pods are of the new template and the rollout is complete
    const pods = (await client.list(Pod, { namespace: "default" })).items
    expect(pods.map(({ spec }) => spec.containers[0]!.image)).toEqual(["web:2", "web:2", "web:2"])
    const after = await client.get(Deployment, { name: "web", namespace: "default" })
    expect(after.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("2")
    expect(after.status.conditions?.find(({ type }) => type === "Progressing")).toMatchObject({
      status: "True",
      reason: "NewReplicaSetAvailable",
    })
    const sets = (await client.list(ReplicaSet, { namespace: "default" })).items
    expect(sets.map(({ spec }) => spec.replicas).sort((a, b) => a - b)).toEqual([0, 3])
  })

  test("has the condition Progressing False when the deadline has passed", async () => {
    // given a Deployment whose pods fit nowhere
    await using cluster = await startCluster()
    const { client } = cluster
    await client.create(Deployment, web(1, "web:1", { progressDeadlineSeconds: 60 }))
    // when
    await cluster.advance(62_000)
    // then
    const { status } = await client.get(Deployment, { name: "web", namespace: "default" })
    expect(status.conditions?.find(({ type }) => type === "Progressing")).toMatchObject({
      status: "False",
      reason: "ProgressDeadlineExceeded",
    })
  })

  test("is deleted with its ReplicaSets and pods when its namespace is deleted", async () => {
    // given
    await using cluster = await startWithNode()
    const { client } = cluster
    await client.create(Namespace, { metadata: { name: "shop" } })
    await client.create(Deployment, { ...web(2), metadata: { name: "web", namespace: "shop" } })
    await cluster.settle()
    expect((await client.list(Pod, { namespace: "shop" })).items).toHaveLength(2)
    // when
    await client.delete(Namespace, { name: "shop" })
    await cluster.advance(60_000)
    // then
    expect((await client.list(Namespace)).items.map(({ metadata }) => metadata.name)).not.toContain("shop")
    expect((await client.list(Pod)).items).toEqual([])
    expect((await client.list(ReplicaSet)).items).toEqual([])
  })

  test("is deleted with all objects that it owns", async () => {
    // given
    await using cluster = await startWithNode()
    const { client } = cluster
    await client.create(Deployment, web(2))
    await cluster.settle()
    // when
    await client.delete(Deployment, { name: "web", namespace: "default" }, { propagationPolicy: "Background" })
    await cluster.advance(60_000)
    // then
    expect((await client.list(ReplicaSet)).items).toEqual([])
    expect((await client.list(Pod)).items).toEqual([])
  })

  test("takes no more old pods while those that it took before are still there", async () => {
    // given a rollout whose ReplicaSets are played by the test: two of four old pods are to go
    const components = { controllers: { disabled: ["replicaset-controller"] }, scheduler: false }
    await using cluster = await startCluster({ components })
    const { client } = cluster
    const setOf = async (image: string) =>
      (await client.list(ReplicaSet)).items.find(({ spec }) => spec.template!.spec!.containers[0]!.image === image)!
    const has = async (image: string, count: number) => {
      const set = await setOf(image)
      const observedGeneration = set.metadata.generation!
      const status = { replicas: count, readyReplicas: count, availableReplicas: count, observedGeneration }
      await client.updateStatus(ReplicaSet, { ...set, status })
      await cluster.settle()
    }
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 2, maxUnavailable: 2 } }
    await cluster.apply({ ...web(4, "web:1", { strategy }), apiVersion: "apps/v1", kind: "Deployment" })
    await has("web:1", 4)
    await cluster.apply({ ...web(4, "web:2", { strategy }), apiVersion: "apps/v1", kind: "Deployment" })
    expect((await setOf("web:1")).spec.replicas).toBe(2)
    // when a new pod is available, and no old one has gone
    await has("web:2", 1)
    // then the old ones stay: two must be available
    expect((await setOf("web:1")).spec.replicas).toBe(2)
    // and one goes when the two have gone
    await has("web:1", 2)
    expect((await setOf("web:1")).spec.replicas).toBe(1)
  })
})
