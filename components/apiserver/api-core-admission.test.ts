import { describe, expect, test } from "bun:test"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { LimitRange } from "../../pkg/api/core/v1/limitrange/limitrange.ts"
import { ResourceQuota } from "../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { ServiceAccount } from "../../pkg/api/core/v1/serviceaccount.ts"
import { start, failure, pod } from "./api-core.fixtures.ts"

describe("admission", () => {
  test("gives a pod its account, token volume, tolerations and priority", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    const waiting = admin.create(Pod, pod("a"))
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const { spec } = await waiting
    expect(spec.serviceAccountName).toBe("default")
    expect(spec.volumes?.[0]?.name).toMatch(/^kube-api-access-[a-z0-9]{5}$/)
    expect(spec.containers[0]!.volumeMounts).toEqual([
      { name: spec.volumes![0]!.name, readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
    ])
    expect(spec.tolerations?.map(({ key }) => key)).toEqual([
      "node.kubernetes.io/not-ready",
      "node.kubernetes.io/unreachable",
    ])
    expect([spec.priority, spec.preemptionPolicy]).toEqual([0, "PreemptLowerPriority"])
  })

  test.each([
    { spec: {}, why: undefined },
    {
      spec: { serviceAccountName: "default" },
      why: 'pods "m" is forbidden: a mirror pod may not reference service accounts',
    },
    {
      spec: { imagePullSecrets: [{ name: "s" }] },
      why: 'pods "m" is forbidden: a mirror pod may not reference secrets',
    },
    {
      spec: { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }] },
      why:
        'Pod "m" is invalid: spec.volumes[0].projected.sources[0].serviceAccountToken: ' +
        "Forbidden: must not be specified when serviceAccountName is not set",
    },
  ])("lets nobody create a mirror pod that gives its node a secret: $why", async ({ spec, why }) => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const given = pod("m")
    const creation = admin.create(Pod, {
      ...given,
      metadata: { ...given.metadata, annotations: { "kubernetes.io/config.mirror": "x" } },
      spec: { ...given.spec, nodeName: "n1", ...spec },
    })
    if (why === undefined) expect((await creation).spec.serviceAccountName).toBeUndefined()
    else expect((await failure(creation)).message).toBe(why)
  })

  test.each([
    { metadata: { generateName: "web-885556787-" }, wants: "web-885556787-" },
    { metadata: { name: "web" }, wants: "web" },
    { metadata: {}, wants: "Unknown" },
  ])("names what it refuses before a name is generated: $wants", async ({ metadata, wants }) => {
    // given
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const { spec } = pod("a")
    const create = (more: object) =>
      failure(admin.create(Pod, { metadata: { ...metadata, namespace: "default" }, spec: { ...spec, ...more } }))
    // when a plugin refuses at once, and when one has waited for something
    const refusals = [await create({ priorityClassName: "none" }), await create({ serviceAccountName: "none" })]
    // then
    const is = `pods "${wants}" is forbidden: `
    expect(refusals.map(({ message }) => message)).toEqual([
      `${is}no PriorityClass with name none was found`,
      `${is}error looking up service account default/none: serviceaccount "none" not found`,
    ])
    expect(refusals.map(({ details }) => details)).toEqual([
      { name: wants, kind: "pods" },
      { name: wants, kind: "pods" },
    ])
  })

  test("keeps pods to the namespace's security level, limits and quota", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const namespace = await admin.get(Namespace, { name: "default" })
    await admin.update(Namespace, {
      ...namespace,
      metadata: {
        ...namespace.metadata,
        labels: { ...namespace.metadata.labels, "pod-security.kubernetes.io/enforce": "restricted" },
      },
    })
    const refused = await failure(admin.create(Pod, pod("a")))
    expect(refused.message).toBe(
      'pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false ' +
        '(container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities ' +
        '(container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or ' +
        'container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must ' +
        'set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    )
    await admin.update(Namespace, {
      ...(await admin.get(Namespace, { name: "default" })),
      metadata: { ...(await admin.get(Namespace, { name: "default" })).metadata, labels: {} },
    })

    await admin.create(LimitRange, {
      metadata: { name: "l", namespace: "default" },
      spec: { limits: [{ type: "Container", default: { cpu: "1" }, max: { cpu: "2" } }] },
    })
    expect((await admin.create(Pod, pod("b"))).spec.containers[0]!.resources).toEqual({
      requests: { cpu: "1" },
      limits: { cpu: "1" },
    })
    const big = pod("c", { containers: [{ name: "c", image: "i", resources: { limits: { cpu: "3" } } }] })
    expect((await failure(admin.create(Pod, big))).message).toContain(
      "maximum cpu usage per Container is 2, but limit is 3",
    )

    await admin.create(ResourceQuota, { metadata: { name: "q", namespace: "default" }, spec: { hard: { pods: "2" } } })
    const both = await Promise.allSettled([admin.create(Pod, pod("d")), admin.create(Pod, pod("e"))])
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
    expect((await failure(admin.create(Pod, pod("f")))).message).toBe(
      'pods "f" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
    )
  })
})

describe("a kubelet", () => {
  test("reads only objects that pods on its node use, and writes only its own node", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    for (const name of ["used", "other"])
      await admin.create(Secret, { metadata: { name, namespace: "default" }, stringData: {} })
    await admin.create(Pod, pod("a", { nodeName: "n1", volumes: [{ name: "v", secret: { secretName: "used" } }] }))
    const kubelet = cluster.as("system:node:n1", ["system:nodes"])
    expect((await kubelet.get(Secret, { namespace: "default", name: "used" })).metadata.name).toBe("used")
    expect(
      (await kubelet.list(Secret, { namespace: "default", fieldSelector: "metadata.name=used" })).items.length,
    ).toBe(1)
    expect((await failure(kubelet.get(Secret, { namespace: "default", name: "other" }))).message).toContain(
      "no relationship found between node 'n1' and this object",
    )
    expect((await failure(kubelet.list(Secret, { namespace: "default" }))).reason).toBe("Forbidden")
    const node = await kubelet.create(Node, {
      metadata: { name: "n1" },
      status: { nodeInfo: { kubeletVersion: "v1" } },
    })
    expect(node.spec.taints?.map(({ key }) => key)).toEqual(["node.kubernetes.io/not-ready"])
    expect(node.status.nodeInfo?.kubeletVersion).toBe("v1")
    expect((await failure(kubelet.create(Node, { metadata: { name: "n2" } }))).message).toContain(
      `node "n1" is not allowed to modify node "n2"`,
    )
    expect(
      (await failure(cluster.as("system:node:n2", ["system:nodes"]).delete(Pod, { namespace: "default", name: "a" })))
        .message,
    ).toContain("can only delete pods with spec.nodeName set to itself")
    const { uid } = (await admin.get(Pod, { namespace: "default", name: "a" })).metadata
    const tokenFor = (spec: object) =>
      kubelet.createSubresource<{ status: { token: string } }>(
        ServiceAccount,
        { namespace: "default", name: "default" },
        "token",
        { spec },
      )
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "a", uid }
    const token = await tokenFor({ boundObjectRef })
    expect(token.status.token.split(".")).toHaveLength(3)
    expect((await failure(tokenFor({}))).message).toBe(
      'serviceaccounts "default" is forbidden: node requested token not bound to a pod',
    )
    expect((await failure(tokenFor({ boundObjectRef: { ...boundObjectRef, uid: undefined } }))).message).toContain(
      "node requested token with a pod binding without a uid",
    )
    expect((await failure(tokenFor({ boundObjectRef, audiences: ["vault"] }))).message).toContain(
      'audience "vault" not found in pod spec volume, system:node:n1 is not authorized to request tokens for ' +
        "this audience",
    )
  })

  test("evicts only pods that run on its node", async () => {
    await using cluster = await start()
    const { client: admin } = cluster
    await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    for (const [name, nodeName] of [
      ["here", "n1"],
      ["there", "n2"],
    ] as const)
      await admin.create(Pod, pod(name, { nodeName }))
    const evict = (name: string) =>
      cluster
        .as("system:node:n1", ["system:nodes"])
        .createSubresource(Pod, { namespace: "default", name }, "eviction", { metadata: { name } })
    await evict("here")
    expect((await failure(evict("there"))).message).toBe(
      'pods "there" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
    )
    expect((await admin.get(Pod, { namespace: "default", name: "here" })).metadata.deletionTimestamp).toBeDefined()
  })
})
