import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { PodDisruptionBudget } from "../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import { ServiceAccount } from "../../pkg/api/core/v1/serviceaccount.ts"
import { Deployment } from "../../pkg/api/apps/v1/deployment.ts"
import { LocalSubjectAccessReview } from "../../pkg/api/authorization/v1/localsubjectaccessreview.ts"
import type { PolicyRule } from "../../pkg/api/rbac/v1/rules.ts"
import { ClusterRole } from "../../pkg/api/rbac/v1/clusterrole.ts"
import { Role } from "../../pkg/api/rbac/v1/role.ts"
import { RoleBinding } from "../../pkg/api/rbac/v1/rolebinding.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { start, failure, pod } from "./api-core.fixtures.ts"

describe("the API without HTTP", () => {
  test("has from the start the objects that every cluster has", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    expect((await admin.list(Namespace)).items.map(({ metadata }) => metadata.name)).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ])
    expect((await admin.get(Service, { namespace: "default", name: "kubernetes" })).spec.clusterIP).toBe("10.43.0.1")
    const view = await admin.get(ClusterRole, { name: "view" })
    const edit = await admin.get(ClusterRole, { name: "edit" })
    const [viewing, editing] = [view, edit].map(({ rules }) => rules?.length ?? 0)
    expect(viewing).toBeGreaterThan(5)
    expect(editing).toBeGreaterThan(viewing!)
  })

  test("refuses with Kubernetes' message what RBAC does not allow, and applies changes of roles at once", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const jane = cluster.as("jane")
    const refused = await failure(jane.list(Pod, { namespace: "default" }))
    expect(refused.message).toBe(
      `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"`,
    )
    await admin.create(RoleBinding, {
      metadata: { name: "jane", namespace: "default" },
      roleRef: { kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "User", name: "jane" }],
    })
    expect((await jane.list(Pod, { namespace: "default" })).items).toEqual([])
    expect((await failure(jane.list(Pod))).message).toContain("at the cluster scope")
    const grab = await failure(
      cluster.as("eve").create(Role, { metadata: { name: "r", namespace: "default" }, rules: [] }),
    )
    expect(grab.reason).toBe("Forbidden")
  })

  test("lets no user grant rights that this user does not have", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(RoleBinding, {
      metadata: { name: "jane", namespace: "default" },
      roleRef: { kind: "ClusterRole", name: "admin" },
      subjects: [{ kind: "User", name: "jane" }],
    })
    const jane = cluster.as("jane")
    await jane.create(Role, {
      metadata: { name: "ok", namespace: "default" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    })
    const refused = await failure(
      jane.create(Role, {
        metadata: { name: "no", namespace: "default" },
        rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }],
      }),
    )
    expect(refused.message).toContain(
      'is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["nodes"], ' +
        'Verbs:["get"]}',
    )
    expect(
      (
        await failure(
          jane.create(RoleBinding, {
            metadata: { name: "no", namespace: "default" },
            roleRef: { kind: "ClusterRole", name: "cluster-admin" },
            subjects: [{ kind: "User", name: "jane" }],
          }),
        )
      ).reason,
    ).toBe("Forbidden")
  })

  test("keeps the rights of a user whose name and groups another user's name imitates", async () => {
    // given a service account that may read pods
    await using cluster = await start()
    const { client: admin } = cluster
    const account = "system:serviceaccount:default:app"
    await admin.create(RoleBinding, {
      metadata: { name: "app", namespace: "default" },
      roleRef: { kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", name: "app" }],
    })
    const groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]

    // when somebody asks what other users may, whose names are those of the account and its groups in one text
    for (const separator of ["\n", "\0", " ", ",", '","', "/"])
      for (let taken = 1; taken <= groups.length; taken++)
        await admin.create(LocalSubjectAccessReview, {
          metadata: { namespace: "default" },
          spec: {
            user: [account, ...groups.slice(0, taken)].join(separator),
            groups: groups.slice(taken),
            resourceAttributes: { namespace: "default", verb: "list", resource: "pods" },
          },
        })

    // then
    expect((await cluster.as(account, groups.slice(0, 2)).list(Pod, { namespace: "default" })).items).toEqual([])
  })

  test("tells which rights somebody lacks as upstream does, and no more than a page of them", async () => {
    // given
    await using cluster = await start()
    await cluster.client.create(RoleBinding, {
      metadata: { name: "jane", namespace: "default" },
      roleRef: { kind: "ClusterRole", name: "admin" },
      subjects: [{ kind: "User", name: "jane" }],
    })
    const grant = (rules: readonly PolicyRule[]) =>
      failure(cluster.as("jane").create(Role, { metadata: { name: "no", namespace: "default" }, rules }))
    const many = (word: string) => Array.from({ length: 400 }, (_, i) => `${word}${i}`)

    // when
    const few = await grant([{ apiGroups: [""], resources: ["nodes", "pods"], verbs: ["get", "list"] }])
    const millions = await grant([{ apiGroups: many("g"), resources: many("r"), verbs: many("v") }])

    // then
    expect(few.message).toEndWith(
      'permissions not currently held:\n{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}',
    )
    expect(millions.reason).toBe("Forbidden")
    expect(millions.message.length).toBeLessThan(150_000)
    expect(millions.message).toEndWith("…")
  })

  test("allows an update or an apply to create an object only with the right to create it", async () => {
    // given somebody who may change ConfigMaps and Leases, and create the one named "mine"
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(Role, {
      metadata: { name: "changes", namespace: "default" },
      rules: [
        { apiGroups: ["", "coordination.k8s.io"], resources: ["configmaps", "leases"], verbs: ["patch", "update"] },
        { apiGroups: [""], resources: ["configmaps"], verbs: ["create"], resourceNames: ["mine"] },
      ],
    })
    await admin.create(RoleBinding, {
      metadata: { name: "changes", namespace: "default" },
      roleRef: { kind: "Role", name: "changes" },
      subjects: [{ kind: "User", name: "jane" }],
    })
    const jane = cluster.as("jane")
    const applied = (name: string) =>
      jane.patch(
        ConfigMap,
        { name, namespace: "default" },
        { type: "apply", body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } } },
        { fieldManager: "jane" },
      )

    // when
    const byApply = await failure(applied("other"))
    const byUpdate = await failure(jane.update(Lease, { metadata: { name: "other", namespace: "default" }, spec: {} }))

    // then
    expect(byApply.message).toBe(
      'configmaps "other" is forbidden: User "jane" cannot create resource "configmaps" in API group "" in ' +
        'the namespace "default"',
    )
    expect(byUpdate.message).toBe(
      'leases.coordination.k8s.io "other" is forbidden: User "jane" cannot create resource "leases" in API ' +
        'group "coordination.k8s.io" in the namespace "default"',
    )
    expect((await applied("mine")).metadata.name).toBe("mine")
  })

  test("allocates cluster IPs and node ports, and releases them", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const service = (name: string, spec: object) => ({
      metadata: { name, namespace: "default" },
      spec: { ports: [{ port: 80 }], selector: { app: "x" }, ...spec },
    })
    const a = await admin.create(Service, service("a", { type: "NodePort" }))
    expect(a.spec.clusterIP).toMatch(/^10\.43\./)
    expect(a.spec.ports![0]!.nodePort).toBeGreaterThanOrEqual(30000)
    const taken = await failure(admin.create(Service, service("b", { clusterIP: a.spec.clusterIP })))
    expect(taken.message).toContain("provided IP is already allocated")
    expect((await failure(admin.create(Service, service("b", { clusterIP: "1.2.3.4" })))).message).toContain(
      "the provided network does not match the current range",
    )
    expect(
      (
        await failure(
          admin.create(
            Service,
            service("b", { type: "NodePort", ports: [{ port: 80, nodePort: a.spec.ports![0]!.nodePort! }] }),
          ),
        )
      ).message,
    ).toContain("provided port is already allocated")
    await admin.delete(Service, a.metadata)
    expect((await admin.create(Service, service("b", { clusterIP: a.spec.clusterIP! }))).spec.clusterIP).toBe(
      a.spec.clusterIP,
    )
    expect((await admin.create(Service, service("h", { clusterIP: "None" }))).spec.clusterIPs).toEqual(["None"])
  })

  test("binds a pod once, and deletes it gracefully once it has a node", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const made = await admin.create(Pod, pod("a"))
    expect(made.status.phase).toBe("Pending")
    await admin.createSubresource(Pod, made.metadata, "binding", {
      metadata: { name: "a" },
      target: { kind: "Node", name: "n1" },
    })
    const bound = await admin.get(Pod, made.metadata)
    expect(bound.spec.nodeName).toBe("n1")
    expect(bound.status.conditions?.find(({ type }) => type === "PodScheduled")).toEqual({
      type: "PodScheduled",
      status: "True",
      lastProbeTime: null,
      lastTransitionTime: expect.any(String),
    })
    expect(
      (
        await failure(
          admin.createSubresource(Pod, made.metadata, "binding", {
            metadata: { name: "a" },
            target: { kind: "Node", name: "n2" },
          }),
        )
      ).message,
    ).toContain(`pod a is already assigned to node "n1"`)
    await admin.delete(Pod, made.metadata)
    const leaving = await admin.get(Pod, made.metadata)
    expect(leaving.metadata.deletionGracePeriodSeconds).toBe(30)
    await admin.delete(Pod, made.metadata, { gracePeriodSeconds: 0 })
    expect((await failure(admin.get(Pod, made.metadata))).reason).toBe("NotFound")
  })

  test("keeps a namespace until it is finalized, and refuses new objects in it meanwhile", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const made = await admin.create(Namespace, { metadata: { name: "x" } })
    await admin.delete(Namespace, made.metadata)
    const leaving = await admin.get(Namespace, made.metadata)
    expect(leaving.status.phase).toBe("Terminating")
    expect((await failure(admin.create(ConfigMap, { metadata: { name: "a", namespace: "x" } }))).message).toContain(
      "because it is being terminated",
    )
    expect((await failure(admin.create(ConfigMap, { metadata: { name: "a", namespace: "y" } }))).message).toBe(
      `namespaces "y" not found`,
    )
    await admin.updateSubresource(Namespace, made.metadata, "finalize", { ...leaving, spec: { finalizers: [] } })
    expect((await failure(admin.get(Namespace, made.metadata))).reason).toBe("NotFound")
  })

  test("scales by the scale subresource, and counts generations", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const labels = { app: "web" }
    const made = await admin.create(Deployment, {
      metadata: { name: "web", namespace: "default" },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    })
    expect(made.metadata.generation).toBe(1)
    await admin.updateSubresource(Deployment, made.metadata, "scale", {
      metadata: { name: "web", namespace: "default" },
      spec: { replicas: 3 },
    })
    const scaled = await admin.get(Deployment, made.metadata)
    expect([scaled.spec.replicas, scaled.metadata.generation]).toEqual([3, 2])
    const patched = await admin.patch(Deployment, made.metadata, {
      type: "strategic",
      body: { spec: { template: { spec: { containers: [{ name: "c", image: "j" }] } } } },
    })
    expect(patched.spec.template.spec.containers[0]!.image).toBe("j")
  })
})

describe("managed fields", () => {
  test("are recorded for each manager; an apply of a field that another manager owns conflicts unless forced", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const cm = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" }, data: { x: "1" } }
    const ref = cm.metadata
    const made = await admin.patch(ConfigMap, ref, { type: "apply", body: cm }, { fieldManager: "one" })
    expect(made.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      "one Apply",
    ])
    const again = await admin.patch(ConfigMap, ref, { type: "apply", body: cm }, { fieldManager: "one" })
    expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion)
    const clash = await failure(
      admin.patch(ConfigMap, ref, { type: "apply", body: { ...cm, data: { x: "2" } } }, { fieldManager: "two" }),
    )
    expect([clash.reason, clash.message]).toEqual([
      "Conflict",
      'Apply failed with 1 conflict: conflict with "one": .data.x',
    ])
    const forced = await admin.patch(
      ConfigMap,
      ref,
      { type: "apply", body: { ...cm, data: { x: "2" } } },
      { fieldManager: "two", force: true },
    )
    expect(forced.data).toEqual({ x: "2" })
  })
})

describe("a namespace that is being deleted", () => {
  test("refuses bindings, evictions and tokens too", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(Namespace, { metadata: { name: "x" } })
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "x" } })
    await admin.create(Pod, { ...pod("a"), metadata: { name: "a", namespace: "x" } })
    await admin.delete(Namespace, { name: "x" })
    const post = (resource: Resource, name: string, subresource: string, body: object) =>
      failure(admin.createSubresource(resource, { namespace: "x", name }, subresource, body))
    const refused = await Promise.all([
      post(Pod, "a", "binding", { metadata: { name: "a" }, target: { kind: "Node", name: "n1" } }),
      post(Pod, "a", "eviction", { metadata: { name: "a" } }),
      post(ServiceAccount, "default", "token", { spec: {} }),
    ])
    expect(refused.map(({ message }) => message)).toEqual(
      ['pods "a"', 'pods "a"', 'serviceaccounts "default"'].map(
        (what) => `${what} is forbidden: unable to create new content in namespace x because it is being terminated`,
      ),
    )
  })
})

describe("deletion", () => {
  test("waits for finalizers, and for dependents if the propagation policy says so", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const made = await admin.create(ConfigMap, {
      metadata: { name: "a", namespace: "default", finalizers: ["example.com/hold"] },
    })
    const wrong = await failure(admin.delete(ConfigMap, made.metadata, { preconditions: { uid: "other" } }))
    expect(wrong.message).toContain("the UID in the precondition (other) does not match the UID in record")
    await admin.delete(ConfigMap, made.metadata, { propagationPolicy: "Foreground" })
    const held = await admin.get(ConfigMap, made.metadata)
    expect(held.metadata.finalizers).toEqual(["example.com/hold", "foregroundDeletion"])
    expect(held.metadata.deletionTimestamp).toBeDefined()
    expect(
      (
        await failure(
          admin.update(ConfigMap, {
            ...held,
            metadata: { ...held.metadata, finalizers: [...held.metadata.finalizers!, "example.com/new"] },
          }),
        )
      ).message,
    ).toContain("no new finalizers can be added if the object is being deleted")
    await admin.update(ConfigMap, { ...held, metadata: { ...held.metadata, finalizers: [] } })
    expect((await failure(admin.get(ConfigMap, made.metadata))).reason).toBe("NotFound")
  })

  test("of an Event waits for no dependents, whatever the propagation policy: the garbage collector ignores Events", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const involvedObject = { kind: "Pod", namespace: "default", name: "a" }
    const made = await admin.create(Event, {
      metadata: { name: "a", namespace: "default" },
      involvedObject,
      reason: "Seen",
      type: "Normal",
    })
    await admin.delete(Event, made.metadata, { propagationPolicy: "Foreground" })
    expect((await failure(admin.get(Event, made.metadata))).reason).toBe("NotFound")
  })

  test("by eviction is allowed only within the disruption budget", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const labels = { app: "x" }
    const made = await admin.create(Pod, {
      ...pod("a", { nodeName: "n1" }),
      metadata: { name: "a", namespace: "default", labels },
    })
    await admin.updateStatus(Pod, {
      ...made,
      status: { ...made.status, phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    })
    const budget = await admin.create(PodDisruptionBudget, {
      metadata: { name: "b", namespace: "default" },
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    })
    await admin.updateStatus(PodDisruptionBudget, {
      ...budget,
      status: { ...budget.status, observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1 },
    })
    const refused = await failure(admin.createSubresource(Pod, made.metadata, "eviction", { metadata: { name: "a" } }))
    expect([refused.code, refused.message, refused.details?.causes?.[0]?.reason]).toEqual([
      429,
      "Cannot evict pod as it would violate the pod's disruption budget.",
      "DisruptionBudget",
    ])
    const now = await admin.get(PodDisruptionBudget, budget.metadata)
    await admin.updateStatus(PodDisruptionBudget, { ...now, status: { ...now.status, disruptionsAllowed: 1 } })
    await admin.createSubresource(Pod, made.metadata, "eviction", { metadata: { name: "a" } })
    const { metadata, status } = await admin.get(Pod, made.metadata)
    expect(metadata.deletionTimestamp).toBeDefined()
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: "DisruptionTarget",
        status: "True",
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting",
      }),
    )
    expect((await admin.get(PodDisruptionBudget, budget.metadata)).status).toMatchObject({ disruptionsAllowed: 0 })
  })
})
