import { expect, test } from "bun:test"
import {
  Deployment,
  Event,
  MutatingAdmissionPolicyBinding,
  ReplicaSet,
  startCluster,
} from "../../cluster/testing/testing.ts"

const labels = { app: "web" }
/** A policy that adds an annotation to the pod template of each new ReplicaSet. */
const policy = [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicy",
    metadata: { name: "marks" },
    spec: {
      matchConstraints: {
        resourceRules: [
          { operations: ["CREATE"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["replicasets"] },
        ],
      },
      reinvocationPolicy: "Never",
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression: `[JSONPatch{op: "add", path: "/spec/template/metadata/annotations", value: {"marked": "yes"}}]`,
          },
        },
      ],
    },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name: "marks" },
    spec: { policyName: "marks" },
  },
]

test("a Deployment whose ReplicaSets get another pod template makes few of them, and is well when that ends", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  const { client } = cluster
  await cluster.apply(policy)
  // when
  await client.create(Deployment, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } },
    },
  })
  await cluster.advance("10m")
  // then the waits between the attempts are 2 s, 4 s, 8 s …
  const { status } = await client.get(Deployment, { name: "web", namespace: "default" })
  expect(status.collisionCount).toBeGreaterThan(3)
  expect(status.collisionCount).toBeLessThan(10)
  const events = (await client.list(Event)).items
  expect(events.map(({ reason }) => reason)).toContain("ReplicaSetCreateError")

  // when the policy is gone
  await cluster.delete(MutatingAdmissionPolicyBinding, "marks")
  await cluster.advance("20m")
  // then
  const after = await client.get(Deployment, { name: "web", namespace: "default" })
  expect(after.status).toMatchObject({ readyReplicas: 1, updatedReplicas: 1, replicas: 1 })
  const active = (await client.list(ReplicaSet)).items.filter(({ spec }) => spec.replicas > 0)
  expect(active.map(({ spec }) => spec.template.metadata!.annotations)).toEqual([undefined])
})
