import { describe, expect, test } from "bun:test"
import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { ClusterRole } from "../../../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { DeviceClass } from "../../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceClaimTemplate } from "../../../../pkg/api/resource/v1/resourceclaimtemplate.ts"
import { startCluster, type Cluster } from "../../../cluster/testing/cluster.ts"

const namespace = "default"
const name = "c"
const start = () => startCluster({ components: { controllers: false } })
const specWith = (request: object = {}) => ({
  devices: { requests: [{ name: "r", exactly: { deviceClassName: "class", ...request } }] },
})

test("admin access to devices is allowed only in namespaces with the label for it", async () => {
  // given
  await using cluster = await start()
  const { client } = cluster
  await client.create(Namespace, {
    metadata: { name: "marked", labels: { "resource.kubernetes.io/admin-access": "true" } },
  })
  const spec = specWith({ adminAccess: true })
  const message = "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires"

  // then
  await expect(client.create(ResourceClaim, { metadata: { name, namespace }, spec })).rejects.toThrow(message)
  await expect(client.create(ResourceClaimTemplate, { metadata: { name, namespace }, spec: { spec } })).rejects.toThrow(
    message,
  )
  await client.create(ResourceClaim, { metadata: { name, namespace: "marked" }, spec })
  await client.create(ResourceClaimTemplate, { metadata: { name, namespace: "marked" }, spec: { spec } })
})

describe("a user who writes the status of a ResourceClaim", () => {
  /** A cluster with a claim, and a user who may write its status and has `rights` beside that. */
  async function clusterWith(...rights: readonly { readonly resource: string; readonly verb: string }[]) {
    const cluster = await start()
    const apiGroups = ["resource.k8s.io"]
    await cluster.client.create(ClusterRole, {
      metadata: { name },
      rules: [
        { apiGroups, resources: ["resourceclaims/status"], verbs: ["update"] },
        ...rights.map(({ resource, verb }) => ({
          apiGroups,
          resources: [`resourceclaims/${resource}`],
          verbs: [verb],
        })),
      ],
    })
    await cluster.client.create(ClusterRoleBinding, {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
    })
    await cluster.client.create(ResourceClaim, { metadata: { name, namespace }, spec: specWith() })
    return cluster
  }
  const device = { driver: "d.example.com", pool: "p", device: "d" }
  const allocation = { devices: { results: [{ request: "r", ...device }] } }
  const write = async (cluster: Cluster, user: string | undefined, status: object) => {
    const claim = await cluster.client.get(ResourceClaim, { name, namespace })
    const client = user === undefined ? cluster.client : cluster.as(user)
    return client.updateStatus(ResourceClaim, { ...claim, status: { ...claim.status, ...status } })
  }

  test("can allocate the claim only with the right to write resourceclaims/binding", async () => {
    await using without = await clusterWith()
    await expect(write(without, "jane", { allocation })).rejects.toThrow(
      "status.allocation: Forbidden: changing status.allocation or status.reservedFor requires " +
        'resource="resourceclaims/binding", verb="update" permission: resourceclaims.resource.k8s.io is forbidden: ' +
        'User "jane" cannot update resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope',
    )
    await using cluster = await clusterWith({ resource: "binding", verb: "update" })
    expect((await write(cluster, "jane", { allocation })).status.allocation).toMatchObject(allocation)
  })

  test("can write a driver's device status only with the right to write resourceclaims/driver", async () => {
    const devices = [{ ...device, data: { a: 1 } }]
    await using without = await clusterWith({ resource: "driver", verb: "associated-node:update" })
    await write(without, undefined, { allocation })
    await expect(write(without, "jane", { devices })).rejects.toThrow(
      'status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", ' +
        'verb="[arbitrary-node:update]" permission: resourceclaims.resource.k8s.io "d.example.com" is forbidden: ' +
        'User "jane" cannot arbitrary-node:update resource "resourceclaims/driver" in API group "resource.k8s.io" in the ' +
        'namespace "default"',
    )
    await using cluster = await clusterWith({ resource: "driver", verb: "arbitrary-node:update" })
    await write(cluster, undefined, { allocation })
    expect((await write(cluster, "jane", { devices })).status.devices).toMatchObject(devices)
  })

  test("cannot change an allocation, and removes the drivers' device status together with the allocation", async () => {
    await using cluster = await clusterWith()
    await write(cluster, undefined, { allocation })
    await write(cluster, undefined, { devices: [{ ...device, data: { a: 1 } }] })
    const other = { devices: { results: [{ request: "r", ...device, device: "other" }] } }
    await expect(write(cluster, undefined, { allocation: other })).rejects.toThrow("field is immutable")
    expect((await write(cluster, undefined, { allocation: undefined })).status).toEqual({})
  })
})

test.each([
  {
    title: "about attributes and capacities is accepted",
    expression: `device.attributes["d.example.com"].model == "a" && device.capacity["x.y"].memory.isGreaterThan(quantity("1Gi"))`,
  },
  {
    title: "that returns no boolean is refused",
    expression: "device.driver",
    wants: "must evaluate to bool or the unknown type, not string",
  },
  {
    title: "with loops over as many attributes as a device can have is accepted",
    expression: `cel.bind(x, device.attributes.all(a, device.attributes.all(b, device.attributes[a].y == "z")), x)`,
  },
  {
    title: "with loops over a collection of unknown size is refused",
    expression: `device.driver.split("a").all(x, x.split("b").all(y, y.split("c").all(z, z.split("d").all(u, true))))`,
    wants: "too complex, exceeds cost limit",
  },
  {
    title: "with cel.bind and a simple variable name is accepted",
    expression: `cel.bind(d, device.attributes["d.example.com"], d.model == "a" || d.size > 1)`,
  },
  {
    title: "with cel.bind and a name that is no identifier is refused",
    expression: `cel.bind(d.e, 1, true)`,
    wants: "cel.bind() variable names must be simple identifiers",
  },
  {
    title: "about a field that devices do not have is refused",
    expression: "device.name",
    wants: "undefined field 'name'",
  },
  {
    title: "that could exceed the cost limit is refused",
    expression:
      "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, true))))",
    wants: "too complex, exceeds cost limit",
  },
  {
    title: "of more than 10 KiB is refused",
    expression: `${"device.driver == 'a' || ".repeat(600)}true`,
    wants: "Too long",
  },
])("a DeviceClass with an expression $title", async ({ expression, wants }) => {
  await using cluster = await start()
  const made = cluster.client.create(DeviceClass, {
    metadata: { name },
    spec: { selectors: [{ cel: { expression } }] },
  })
  if (wants === undefined) await made
  else await expect(made).rejects.toThrow(wants)
})
