import { describe, expect, test } from "bun:test"
import { Service } from "../../../../../pkg/api/core/v1/service/service.ts"
import { IPAddress } from "../../../../../pkg/api/networking/v1/ipaddress.ts"
import { ServiceCIDR } from "../../../../../pkg/api/networking/v1/servicecidr.ts"
import type { ApiError } from "../../../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../../../pkg/client/client.ts"
import { startServices } from "./service.fixtures.ts"

const failure = async (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => {
      throw new Error("it was expected to fail")
    },
    (err: ApiError) => err,
  )
const causesOf = async (promise: Promise<unknown>): Promise<readonly string[]> =>
  ((await failure(promise)).details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`)
/** Creates a Service, which returns only after all earlier writes in the background are in the store. */
const committed = (admin: Client) =>
  admin.create(Service, { metadata: { generateName: "x-", namespace: "default" }, spec: { clusterIP: "None" } })
const service = (name: string, spec: object = {}) => ({
  metadata: { name, namespace: "default" },
  spec: { ports: [{ port: 80 }], selector: { app: "x" }, ...spec },
})
const ready = (name: string, cidrs: readonly string[]) => ({
  metadata: { name },
  spec: { cidrs },
  status: {
    conditions: [
      { type: "Ready", status: "True" as const, reason: "", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ],
  },
})

describe("a cluster IP", () => {
  test("has an IPAddress, which is created and deleted with its Service in one transaction", async () => {
    const { admin, storage } = await startServices()
    const before = storage.revision
    // when
    const made = await admin.create(Service, service("a"))
    // then
    expect(storage.since(before).map(({ type, key }) => `${type} ${key}`)).toEqual([
      "create /registry/core/services/default/a",
      `create /registry/networking.k8s.io/ipaddresses/${made.spec.clusterIP}`,
    ])
    expect(await admin.get(IPAddress, { name: made.spec.clusterIP! })).toMatchObject({
      apiVersion: "networking.k8s.io/v1",
      kind: "IPAddress",
      metadata: {
        labels: {
          "ipaddress.kubernetes.io/ip-family": "IPv4",
          "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        },
      },
      spec: { parentRef: { resource: "services", namespace: "default", name: "a" } },
    })
    // and when
    await admin.delete(Service, made.metadata)
    // then
    expect((await failure(admin.get(IPAddress, { name: made.spec.clusterIP! }))).reason).toBe("NotFound")
  })

  test("is also allocated and released when the type of its Service changes", async () => {
    const { admin } = await startServices()
    const names = async () => (await admin.list(IPAddress)).items.map(({ metadata }) => metadata.name)
    const made = await admin.create(Service, service("a"))
    const external = await admin.update(Service, {
      ...made,
      spec: { ...made.spec, type: "ExternalName", externalName: "example.com" },
    })
    expect([external.spec.clusterIP, await names()]).toEqual([undefined, ["10.43.0.1"]])
    const back = await admin.patch(Service, made.metadata, {
      type: "merge",
      body: { spec: { type: "ClusterIP", externalName: null } },
    })
    expect(await names()).toContain(back.spec.clusterIP!)
    await admin.create(Service, service("headless", { clusterIP: "None" }))
    expect((await names()).length).toBe(2)
  })

  test("is not allocated when its IPAddress belongs to another object", async () => {
    const { admin } = await startServices({ serviceCidrs: ["10.43.0.0/30"] })
    await admin.create(IPAddress, {
      metadata: { name: "10.43.0.2" },
      spec: { parentRef: { resource: "gateways", group: "example.com", name: "g" } },
    })
    expect((await failure(admin.create(Service, service("a", { clusterIP: "10.43.0.2" })))).message).toBe(
      'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.43.0.2"]: failed to allocate IP ' +
        "10.43.0.2: provided IP is already allocated",
    )
    expect(await failure(admin.create(Service, service("a")))).toMatchObject({
      code: 500,
      message: 'Internal error occurred: failed to allocate a serviceIP for Service "a": range is full',
    })
    await admin.delete(IPAddress, { name: "10.43.0.2" })
    expect((await admin.create(Service, service("a"))).spec.clusterIP).toBe("10.43.0.2")
  })

  test("is not allocated by a dry run or for a refused Service", async () => {
    const { admin } = await startServices({ serviceCidrs: ["10.43.0.0/30"] })
    await admin.create(Service, service("a"), { dryRun: true })
    await failure(admin.create(Service, service("a", { type: "NodePort", ports: [{ port: 80, nodePort: 1 }] })))
    await failure(admin.create(Service, service("a", { sessionAffinity: "No" })))
    expect((await admin.create(Service, service("a"))).spec.clusterIP).toBe("10.43.0.2")
  })

  test("may be in use in a dry run, but must be in the range", async () => {
    const { admin } = await startServices({ serviceCidrs: ["10.43.0.0/30"] })
    await admin.create(Service, service("a", { clusterIP: "10.43.0.2" }))
    expect(
      (await admin.create(Service, service("b", { clusterIP: "10.43.0.2" }), { dryRun: true })).spec.clusterIP,
    ).toBe("10.43.0.2")
    expect(
      (await failure(admin.create(Service, service("b", { clusterIP: "10.1.0.1" }), { dryRun: true }))).message,
    ).toBe(
      'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.1.0.1"]: failed to allocate IP 10.1.0.1: the ' +
        "provided IP (10.1.0.1) is not in the valid range. The range of valid IPs is 10.43.0.0/30",
    )
  })

  test("gets its IPAddress again when that is deleted or loses its labels", async () => {
    const { admin } = await startServices()
    const name = (await admin.create(Service, service("a"))).spec.clusterIP!
    await admin.delete(IPAddress, { name })
    await committed(admin)
    const again = await admin.get(IPAddress, { name })
    await admin.update(IPAddress, { ...again, metadata: { ...again.metadata, labels: { mine: "yes" } } })
    await committed(admin)
    expect((await admin.get(IPAddress, { name })).metadata.labels).toEqual({
      mine: "yes",
      "ipaddress.kubernetes.io/ip-family": "IPv4",
      "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    })
  })

  test(
    "without an IPAddress, from an older version, gets one at the start, and an IPAddress without its Service is " +
      "deleted",
    async () => {
      // given
      const first = await startServices()
      const made = await first.admin.create(Service, service("a"))
      const gone = await first.admin.create(Service, service("gone"))
      await first.plane.close()
      const { storage } = first
      const write = { expected: undefined, time: 0, author: "x", object: null }
      await storage.writeAll([
        { ...write, key: `/registry/networking.k8s.io/ipaddresses/${made.spec.clusterIP}` },
        { ...write, key: "/registry/core/services/default/gone" },
      ])
      // when
      const { admin } = await startServices({ storage })
      await committed(admin)
      // then
      expect((await admin.list(IPAddress)).items.map(({ metadata }) => metadata.name)).toEqual(
        ["10.43.0.1", made.spec.clusterIP!].sort(),
      )
      expect((await failure(admin.get(IPAddress, { name: gone.spec.clusterIP! }))).reason).toBe("NotFound")
    },
  )
})

describe("ServiceCIDRs", () => {
  test("widen the range when they are ready, and no longer once they are being deleted", async () => {
    const { admin } = await startServices({ serviceCidrs: ["10.43.0.0/30"] })
    await admin.create(Service, service("last"))
    const more = await admin.create(ServiceCIDR, {
      ...ready("more", ["10.44.0.0/29"]),
      metadata: { name: "more", finalizers: ["networking.k8s.io/service-cidr-finalizer"] },
    })
    expect((await failure(admin.create(Service, service("a")))).message).toContain("range is full")
    expect(await causesOf(admin.create(Service, service("a", { clusterIP: "10.44.0.3" })))).toEqual([
      'spec.clusterIPs: Invalid value: ["10.44.0.3"]: failed to allocate IP 10.44.0.3: the provided network ' +
        "does not match the current range",
    ])
    await admin.updateStatus(ServiceCIDR, { ...more, status: ready("more", []).status })
    // when
    const wished = await admin.create(Service, service("a", { clusterIP: "10.44.0.3" }))
    const drawn = await Promise.all(
      ["b", "c", "d", "e", "f"].map(async (name) => (await admin.create(Service, service(name))).spec.clusterIP!),
    )
    // then
    expect([wished.spec.clusterIP!, ...drawn].sort()).toEqual([
      "10.44.0.1",
      "10.44.0.2",
      "10.44.0.3",
      "10.44.0.4",
      "10.44.0.5",
      "10.44.0.6",
    ])
    await admin.delete(Service, { namespace: "default", name: "b" })
    await admin.delete(ServiceCIDR, more.metadata)
    expect((await failure(admin.create(Service, service("b")))).message).toContain("range is full")
  })

  test("take a second family, and change in no other way", async () => {
    const { admin } = await startServices()
    const cidr = await admin.create(ServiceCIDR, { metadata: { name: "x" }, spec: { cidrs: ["10.44.0.0/24"] } })
    const change = (cidrs: readonly string[]) => admin.update(ServiceCIDR, { ...cidr, spec: { cidrs: [...cidrs] } })
    expect(await causesOf(change(["10.45.0.0/24"]))).toEqual([
      'spec.cidrs[0]: Invalid value: "10.45.0.0/24": field is immutable',
    ])
    expect(await causesOf(change(["10.44.0.0/24", "10.45.0.0/24"]))).toEqual([
      'spec.cidrs: Invalid value: ["10.44.0.0/24","10.45.0.0/24"]: may specify no more than one IP for each ' +
        "IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
    ])
    expect((await change(["10.44.0.0/24", "fd00::/112"])).spec.cidrs).toEqual(["10.44.0.0/24", "fd00::/112"])
  })
})

describe("families of a Service", () => {
  test("are IPv4 only by default, and both for a headless Service without a selector", async () => {
    const { admin } = await startServices()
    const families = async (name: string, spec: object) => {
      const made = await admin.create(Service, service(name, spec))
      return [made.spec.ipFamilyPolicy, made.spec.ipFamilies]
    }
    expect(await families("a", {})).toEqual(["SingleStack", ["IPv4"]])
    expect(await families("b", { ipFamilyPolicy: "PreferDualStack" })).toEqual(["PreferDualStack", ["IPv4"]])
    expect(await families("c", { clusterIP: "None" })).toEqual(["SingleStack", ["IPv4"]])
    expect(await families("d", { clusterIP: "None", selector: {} })).toEqual(["RequireDualStack", ["IPv4", "IPv6"]])
  })

  test("are refused if the cluster does not have them", async () => {
    const { admin } = await startServices()
    const faults = (spec: object) => causesOf(admin.create(Service, service("a", spec)))
    expect(await faults({ ipFamilyPolicy: "RequireDualStack" })).toEqual([
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ])
    expect(await faults({ ipFamilies: ["IPv6"] })).toEqual([
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ])
    expect(await faults({ ipFamilies: ["IPv4", "IPv6"] })).toEqual([
      `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' ` +
        "when multiple IP families are specified",
    ])
    expect(await faults({ clusterIP: "fd00::1" })).toEqual([
      'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ])
    expect(await faults({ clusterIP: "x" })).toEqual([
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ])
  })
})

describe("a node port", () => {
  const exposed = (name: string, nodePort: number) =>
    service(name, { type: "NodePort", ports: [{ port: 80, nodePort }] })
  const taken = /spec\.ports\[0\]\.nodePort: Invalid value: 31111: provided port is already allocated$/

  test("is not lost when a client tries to create the Service again", async () => {
    // given a Service with a port
    const { admin } = await startServices()
    await admin.create(Service, exposed("a", 31111))
    // when it is created again, also as a dry run
    for (const dryRun of [true, false])
      expect((await failure(admin.create(Service, exposed("a", 31111), { dryRun }))).message).toMatch(taken)
    // then no other gets the port
    for (const dryRun of [true, false])
      expect((await failure(admin.create(Service, exposed("b", 31111), { dryRun }))).message).toMatch(taken)
  })

  test("for health checks that is in use is refused with the same code as in Kubernetes", async () => {
    const { admin } = await startServices()
    await admin.create(Service, exposed("a", 31111))
    const checked = (healthCheckNodePort: number) =>
      service("b", { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort })
    expect(await failure(admin.create(Service, checked(31111)))).toMatchObject({
      code: 500,
      message:
        "Internal error occurred: failed to allocate requested HealthCheck NodePort 31111: provided port is already " +
        "allocated",
    })
  })
})
