/** Objects that look odd and are well, and the whole cluster: nobody innocent is blamed. */
import { describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import type { Overview } from "../../pkg/why/cluster.ts"
import { object } from "./reports.cases.ts"
import { ask, deployment, pod } from "./situation.fixtures.ts"

const ONE = `{containers: [{name: c, image: "app:1"}]}`
const TASK = `{restartPolicy: Never, containers: [{name: c, image: "app:1"}]}`
const warning = (name: string, reason: string, message: string): string =>
  object(
    "v1",
    "Event",
    name,
    `involvedObject: {apiVersion: v1, kind: Pod, name: web, namespace: default}
reason: ${reason}
message: ${JSON.stringify(message)}
type: Warning
lastTimestamp: "2026-01-01T00:00:20Z"`,
  )

interface Odd {
  readonly title: string
  readonly yaml: string
  readonly ask: string
  readonly images?: NonNullable<Parameters<typeof startCluster>[0]>["images"]
  readonly happens?: (cluster: Cluster) => Promise<unknown>
}

const ODD: readonly Odd[] = [
  {
    title: "a Deployment with an evicted pod that was replaced",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    happens: async (cluster) => {
      const name = (await cluster.kubectl("get pods -o name")).stdout.trim()
      await cluster.kubectl(
        `patch ${name} --subresource=status --type=merge -p '{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}'`,
      )
    },
  },
  {
    title: "a Job whose first pod failed, and whose second one runs for longer already",
    yaml: object("batch/v1", "Job", "task", `spec: {template: {spec: ${TASK}}}`),
    ask: "job/task",
    images: { "app:1": { runsMs: 1000, exitCode: 1, logs: ["the database is not there yet"] } },
    happens: (cluster) => {
      cluster.setImage("app:1", { runsMs: 1e7 })
      return Promise.resolve()
    },
  },
  {
    title: "a pod of a Job within its grace",
    yaml: pod(
      "web",
      `{terminationGracePeriodSeconds: 900, restartPolicy: Never, containers: [{name: c, image: "app:1"}]}`,
      "finalizers: [batch.kubernetes.io/job-tracking]",
    ),
    ask: "pod/web",
    images: { "app:1": { onStop: { afterMs: 800_000, exitCode: 0 } } },
    happens: (cluster) => cluster.kubectl("delete pod web --wait=false"),
  },
  {
    title: "a pod with warnings about what is over",
    yaml: pod("web", ONE),
    ask: "pod/web",
    happens: (cluster) =>
      cluster.apply(
        warning("one", "FailedMount", "MountVolume.SetUp failed for volume x") +
          warning("two", "Unhealthy", "Readiness probe failed: connection refused") +
          warning("three", "DNSConfigForming", "Nameserver limits were exceeded") +
          warning("four", "BackOff", "Back-off restarting failed container"),
      ),
  },
  {
    title: "a node with conditions that are well when they are True",
    yaml: "",
    ask: "node/node-0",
    happens: (cluster) =>
      cluster.kubectl(
        `patch node node-0 --subresource=status --type=strategic -p '{"status":{"conditions":[{"type":"EtcdIsVoter","status":"True"},{"type":"KernelDeadlock","status":"False"}]}}'`,
      ),
  },
]

describe("why says of what looks odd that nothing is wrong with it:", () => {
  test.each([...ODD])("$title", async ({ yaml, ask: about, images, happens }) => {
    // given an object that something has happened to
    await using cluster = await startCluster({ nodes: 2, seed: 1, ...(images === undefined ? {} : { images }) })
    if (yaml !== "") await cluster.apply(yaml)
    await cluster.advance("30s")
    await happens?.(cluster)
    await cluster.advance("3m")

    // when somebody asks why, then it is well or under way
    const { code, answer } = await ask(cluster, about)
    expect({ code, wrong: answer.findings.filter(({ weight }) => weight === "broken") }).toEqual({ code: 0, wrong: [] })
  })
})

const overviewOf = async (cluster: Cluster, flags = ""): Promise<Overview> =>
  JSON.parse((await cluster.kubectl(`why ${flags} -o json`)).stdout) as Overview

const webhook = (name: string, service: string, more = ""): string =>
  object(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    name,
    `webhooks: [{name: ${name}.example.com, clientConfig: {service: {name: ${service}, namespace: default}}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}], admissionReviewVersions: [v1], sideEffects: None${more}}]`,
  )

describe("why of the whole cluster", () => {
  test("names a webhook that stops others first, and once with all that it stops", async () => {
    // given three broken Deployments, and two whose pods a webhook without a server keeps from being made
    await using cluster = await startCluster({ nodes: 2, images: { "bad:1": { runsMs: 10, exitCode: 3 } } })
    const conf = `{containers: [{name: c, image: "app:1", envFrom: [{configMapRef: {name: conf}}]}]}`
    for (const name of ["a", "b", "c"]) await cluster.apply(deployment(name, conf))
    await cluster.advance("30s")
    await cluster.apply(webhook("guard", "gone"))
    await cluster.apply(deployment("d", ONE) + deployment("e", ONE))
    await cluster.advance("3m")

    // when somebody asks why, then the webhook comes first
    const { groups } = await overviewOf(cluster)
    expect(groups.map(({ cause, objects }) => [cause.code, objects.map(({ name }) => name)])).toEqual([
      ["webhook-down", ["guard", "d", "e"]],
      ["configmap-missing", ["a", "b", "c"]],
    ])
  })

  test("names bindings that give nobody what they should, and policies that are not enforced", async () => {
    // given a binding to a role that does not exist, and one to a policy that does not
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(
      object("v1", "ServiceAccount", "app", "") +
        object(
          "rbac.authorization.k8s.io/v1",
          "RoleBinding",
          "reads",
          "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects: [{kind: ServiceAccount, name: app, namespace: default}]",
        ) +
        object(
          "admissionregistration.k8s.io/v1",
          "ValidatingAdmissionPolicyBinding",
          "strict",
          "spec: {policyName: nope, validationActions: [Deny]}",
        ),
    )
    await cluster.advance("1m")

    // when somebody asks why, then both are told of
    const { groups } = await overviewOf(cluster)
    expect(
      Object.fromEntries(groups.map(({ cause, objects }) => [cause.code, objects.map(({ name }) => name)])),
    ).toEqual({ "policy-missing": ["strict"], "role-missing": ["reads"] })
  })

  test("blames nobody for a webhook that may be left out, a binding of accounts that are gone, or a policy of the network", async () => {
    // given those
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(
      deployment("web", ONE) +
        webhook("lax", "gone", ", failurePolicy: Ignore") +
        object(
          "rbac.authorization.k8s.io/v1",
          "ClusterRoleBinding",
          "left-over",
          "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects: [{kind: ServiceAccount, name: gone, namespace: default}]",
        ) +
        object(
          "networking.k8s.io/v1",
          "NetworkPolicy",
          "deny",
          "spec: {podSelector: {}, policyTypes: [Ingress, Egress]}",
        ),
    )
    await cluster.advance("3m")

    // when somebody asks why, then all is well
    expect(await overviewOf(cluster)).toMatchObject({ state: "healthy", groups: [], unknown: [] })
  })

  test("asks for no more of a cluster that is ten times as large, and lets others have their turn between objects", async () => {
    // given what answers as a healthy cluster with very many Deployments, bindings and webhooks would
    const asked = async (count: number): Promise<{ readonly requests: number; readonly turns: number }> => {
      const { whyCluster } = await import("../../pkg/why/cluster.ts")
      const names = Array.from({ length: count }, (_, index) => `x${index}`)
      const items: Readonly<Record<string, readonly object[]>> = {
        "/apis/apps/v1/deployments": names.map((name) => ({
          metadata: { name, namespace: "default", uid: name, generation: 1 },
          spec: { replicas: 0 },
          status: { observedGeneration: 1 },
        })),
        "/apis/rbac.authorization.k8s.io/v1/roles": names.map((name) => ({ metadata: { name, namespace: "default" } })),
        "/apis/rbac.authorization.k8s.io/v1/rolebindings": names.map((name) => ({
          metadata: { name, namespace: "default" },
          roleRef: { kind: "Role", name },
          subjects: [{ kind: "User", name: "jane" }],
        })),
      }
      let [requests, turns] = [0, 0]
      const found = await whyCluster({
        now: () => 0,
        turn: () => {
          turns++
          return Promise.resolve()
        },
        get: (path) => {
          requests++
          return Promise.resolve({ code: 200, text: JSON.stringify({ items: items[path] ?? [] }) })
        },
      })
      expect(found).toMatchObject({ state: "healthy", examined: 2 * count })
      return { requests, turns }
    }

    // when somebody asks why of it, and of one that is ten times as large
    const [small, large] = [await asked(100), await asked(1000)]

    // then there are as many requests, and a turn for each object
    expect(large.requests).toBe(small.requests)
    expect([small.turns, large.turns]).toEqual([200, 2000])
  })
})
