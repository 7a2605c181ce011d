import { expect, test } from "bun:test"
import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import { startCluster } from "../../cluster/testing/testing.ts"

test.each([
  { title: "an empty list of rules", rules: [] },
  { title: "rules: null", rules: null },
])("a role whose aggregation rule selects no role keeps what it was created with: $title", async ({ rules }) => {
  // given
  await using cluster = await startCluster({ components: { controllers: false, scheduler: false } })
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { no: "role" } }] }
  const role = { metadata: { name: "empty" }, aggregationRule, rules }
  const made = await cluster.client.create(ClusterRole, role as never)
  // when
  await cluster.client.create(ClusterRole, { metadata: { name: "another" }, rules: [] })
  // then
  const { metadata } = await cluster.client.get(ClusterRole, { name: "empty" })
  expect(metadata.resourceVersion).toBe(made.metadata.resourceVersion!)
})
