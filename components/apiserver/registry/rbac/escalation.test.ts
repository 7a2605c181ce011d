import { expect, test } from "bun:test"
import { Role } from "../../../../pkg/api/rbac/v1/role.ts"
import { RoleBinding } from "../../../../pkg/api/rbac/v1/rolebinding.ts"
import { startCluster } from "../../../cluster/testing/testing.ts"

const named = (name: string) => ({ metadata: { name, namespace: "default" } })
const toAlice = (roleKind: "ClusterRole" | "Role", role: string) => ({
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: roleKind, name: role },
  subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "alice" }],
})

test.each([
  { title: "an empty list of rules", rules: [] },
  { title: "rules: null", rules: null },
  { title: "no rules", rules: undefined },
])("an administrator of a namespace writes and binds a role with $title", async ({ rules }) => {
  // given
  await using cluster = await startCluster({ components: { controllers: false, scheduler: false } })
  await cluster.client.create(RoleBinding, { ...named("alice"), ...toAlice("ClusterRole", "admin") })
  const client = cluster.as("alice")
  const some = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }]
  // when
  const role = await client.create(Role, { ...named("role"), rules } as never)
  await client.create(RoleBinding, { ...named("bound"), ...toAlice("Role", "role") })
  await client.update(Role, { ...role, rules: some })
  const last = await client.patch(Role, role.metadata, { type: "merge", body: { rules: [] } })
  // then
  expect(last.rules ?? []).toEqual([])
})
