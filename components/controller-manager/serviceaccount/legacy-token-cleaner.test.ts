import { expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"

const namespace = "default"
const LAST_USED = "kubernetes.io/legacy-token-last-used"
const INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"

test("an unused token that its account lists is marked after a year, and deleted after another", async () => {
  // given
  await using cluster = await startCluster({ startTime: "2026-01-01T10:00:00Z" })
  const { client } = cluster
  const token = (name: string, labels: Record<string, string> = {}) =>
    client.create(Secret, {
      metadata: { name, namespace, labels, annotations: { "kubernetes.io/service-account.name": "builder" } },
      type: "kubernetes.io/service-account-token",
    })
  const listed = ["unused", "used", "mounted"].map((name) => ({ name }))
  await client.create(ServiceAccount, { metadata: { name: "builder", namespace }, secrets: listed })
  await token("unused")
  await token("used", { [LAST_USED]: "2026-07-01" })
  await token("mounted")
  await token("by-hand")
  await client.create(Pod, {
    metadata: { name: "p", namespace },
    spec: {
      schedulingGates: [{ name: "example.com/never" }],
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "v", secret: { secretName: "mounted" } }],
    },
  })
  const seen = async () =>
    Object.fromEntries(
      (await client.list(Secret, { namespace })).items.map(({ metadata }) => [
        metadata.name,
        metadata.labels?.[INVALID_SINCE],
      ]),
    )
  const unmarked = { unused: undefined, used: undefined, mounted: undefined, "by-hand": undefined }

  // when the year that began with the day after the first is not over, then
  await cluster.advance("365d")
  expect(await seen()).toEqual(unmarked)

  // when it is, then
  await cluster.advance("25h")
  expect(await seen()).toEqual({ ...unmarked, unused: "2027-01-02" })

  // when the marked one has had its second year, then
  await cluster.advance("368d")
  const { used, ...rest } = await seen()
  expect(used).toBeDefined()
  expect(rest).toEqual({ mounted: undefined, "by-hand": undefined })
})
