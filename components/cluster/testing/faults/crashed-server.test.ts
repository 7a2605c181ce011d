import { expect, test } from "bun:test"
import { ApiError, ConfigMap, Namespace, Pod, ServiceAccount, startCluster, type Cluster } from "../testing.ts"

const REFUSAL = { reason: "ServiceUnavailable", message: "the API server is not running" }

/** Why a call fails. */
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (err: unknown) => {
      const { reason, message } = ApiError.from(err)
      return { reason, message }
    },
  )

/** Creates a ConfigMap with a client for which time does not move. Resolves to why that failed, if it did. */
const creating = (cluster: Cluster): Promise<unknown> =>
  failureOf(cluster.contextFor().client.create(ConfigMap, { metadata: { namespace: "default", name: "late" } }))

async function crash(cluster: Cluster): Promise<void> {
  const fault = await cluster.faults.crashed("apiserver")
  await cluster.advance("1s")
  await fault.end()
}

test("requests that are on their way to the API server when that crashes are not carried out", async () => {
  // given a write and a read
  await using cluster = await startCluster()
  await using _delay = await cluster.faults.requests({ resource: "configmaps", delay: "20s" })
  const sent = creating(cluster)
  const asked = failureOf(cluster.contextFor().client.list(ConfigMap))
  await cluster.advance("5s")
  // when the server is another one by the time they arrive
  await crash(cluster)
  await cluster.advance("30s")
  // then
  expect(await sent).toEqual(REFUSAL)
  expect(await asked).toEqual(REFUSAL)
  expect(await cluster.find(ConfigMap, { namespace: "default", name: "late" })).toBeUndefined()
})

test("a request that waits for a webhook when the API server crashes is not carried out", async () => {
  // given
  const { promise: answered, resolve: answer } = Promise.withResolvers<{ allowed: true }>()
  await using cluster = await startCluster({ webhooks: { "hooks/slow/ask": () => answered } })
  await cluster.apply({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "slow" },
    webhooks: [
      {
        name: "slow.example.com",
        clientConfig: { service: { namespace: "hooks", name: "slow", path: "/ask" } },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] }],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 30,
      },
    ],
  })
  const sent = creating(cluster)
  await cluster.advance("1s")
  // when
  await crash(cluster)
  answer({ allowed: true })
  // then
  expect(await sent).toEqual(REFUSAL)
  expect(await cluster.find(ConfigMap, { namespace: "default", name: "late" })).toBeUndefined()
})

test("with several servers, the controllers run once after their API servers and they have crashed", async () => {
  // given three servers whose API servers were started again
  await using cluster = await startCluster({ servers: 3 })
  await crash(cluster)
  // when the controllers and the scheduler crash
  for (const component of ["controller-manager", "scheduler"] as const) {
    const fault = await cluster.faults.crashed(component)
    await cluster.advance("1m")
    await fault.end()
  }
  await cluster.advance("1m")
  // then only one account is made, and nothing is left at the end
  await cluster.client.create(Namespace, { metadata: { name: "team" } })
  await cluster.eventually(ServiceAccount, { namespace: "team" }, (accounts) => accounts.length === 1)
})

test("with several servers, controllers and scheduler go on after a crash of their API servers", async () => {
  // given
  await using cluster = await startCluster({ servers: 3, nodes: 1 })
  // when
  await using fault = await cluster.faults.crashed("apiserver")
  await cluster.advance("500ms")
  await fault.end()
  // then
  await cluster.apply({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "app" }] } },
    },
  })
  await cluster.eventually(
    Pod,
    { labels: "app=web" },
    (pods) => pods.length === 1 && pods[0]?.status.phase === "Running",
  )
})
