import { expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { Objects } from "../cacher/objects.ts"
import { RbacAuthorizer } from "./rbac.ts"

test("a role that many bindings give to a user counts once", async () => {
  // given a role, bound twice to jane, and once to her group
  const storage = new MemoryStorage({ clock: new VirtualClock(0), frozen: true })
  const put = (kind: string, plural: string, name: string, fields: object) =>
    storage.write({
      key: `/registry/rbac.authorization.k8s.io/${plural}/${name}`,
      object: { apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name }, ...fields },
      expected: undefined,
      time: 0,
      author: "x",
    })
  const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }]
  await put("ClusterRole", "clusterroles", "reader", { rules })
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" }
  const jane = { kind: "User", name: "jane" }
  await put("ClusterRoleBinding", "clusterrolebindings", "a", { roleRef, subjects: [jane, jane] })
  await put("ClusterRoleBinding", "clusterrolebindings", "b", { roleRef, subjects: [{ kind: "Group", name: "staff" }] })
  const rbac = new RbacAuthorizer({ storage, objects: new Objects(storage) })
  // when, then
  const user = { name: "jane", groups: ["staff"] }
  expect(rbac.rulesOf(user, undefined)).toEqual(rules)
  // and the first of the bindings is the reason
  const asked = { user, verb: "get", group: "", version: "v1", resource: "pods" }
  expect(rbac.authorize(asked).reason).toContain('ClusterRoleBinding "a"')
})
