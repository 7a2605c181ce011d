import { describe, expect, test } from "bun:test"
import { Service } from "../../../../../pkg/api/core/v1/service/service.ts"
import type { ServiceSpec } from "../../../../../pkg/api/core/v1/service/servicespec.ts"
import { IPAddress } from "../../../../../pkg/api/networking/v1/ipaddress.ts"
import { ServiceCIDR } from "../../../../../pkg/api/networking/v1/servicecidr.ts"
import type { Family } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import { ApiError } from "../../../../../pkg/apimachinery/errors.ts"
import type { InputOf } from "../../../../../pkg/apimachinery/fields.ts"
import { MemoryStorage } from "../../../../../pkg/storage/memory.ts"
import { realClock } from "../../../../../pkg/clock/real.ts"
import { startServices } from "./service.fixtures.ts"

type Spec = InputOf<typeof ServiceSpec>

const CLUSTERS = {
  "IPv4 alone": ["10.43.0.0/16"],
  "IPv6 alone": ["fd43::/112"],
  "IPv4 and IPv6": ["10.43.0.0/16", "fd43::/112"],
  "IPv6 and IPv4": ["fd43::/112", "10.43.0.0/16"],
}

/**
 * Prints the policy and the families of a Service, as in `PreferDualStack IPv4,IPv6`, and the addresses that were asked
 * for.
 */
const shown = ({ spec: { ipFamilyPolicy, ipFamilies, clusterIPs = [] } }: Service): string => {
  const named = clusterIPs.filter((ip) => ["None", V4.clusterIP, V6.clusterIP].includes(ip))
  return [ipFamilyPolicy, ipFamilies?.join(), ...named].filter((word) => word !== undefined).join(" ")
}

const answer = async (request: Promise<Service>): Promise<string> =>
  request.then(shown, (err: unknown) =>
    err instanceof ApiError
      ? (err.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`).join("\n")
      : String(err),
  )

const NONE = { clusterIP: "None" } as const
const V4 = { clusterIP: "10.43.7.77", clusterIPs: ["10.43.7.77"] }
const V6 = { clusterIP: "fd43::77", clusterIPs: ["fd43::77"] }
const policy = (ipFamilyPolicy: NonNullable<Spec["ipFamilyPolicy"]>, ...ipFamilies: Family[]) => ({
  ipFamilyPolicy,
  ...(ipFamilies.length > 0 ? { ipFamilies } : {}),
})
const NOT_DUAL =
  'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services'
const without = (family: Family, i = 0) =>
  `spec.ipFamilies[${i}]: Invalid value: "${family}": not configured on this cluster`

// Each row was compared with Kubernetes 1.36.2.
const CREATED: readonly {
  readonly given: Spec
  readonly wants: Readonly<Record<keyof typeof CLUSTERS, string>>
}[] = [
  {
    given: {},
    wants: {
      "IPv4 alone": "SingleStack IPv4",
      "IPv6 alone": "SingleStack IPv6",
      "IPv4 and IPv6": "SingleStack IPv4",
      "IPv6 and IPv4": "SingleStack IPv6",
    },
  },
  {
    given: policy("PreferDualStack"),
    wants: {
      "IPv4 alone": "PreferDualStack IPv4",
      "IPv6 alone": "PreferDualStack IPv6",
      "IPv4 and IPv6": "PreferDualStack IPv4,IPv6",
      "IPv6 and IPv4": "PreferDualStack IPv6,IPv4",
    },
  },
  {
    given: policy("RequireDualStack"),
    wants: {
      "IPv4 alone": NOT_DUAL,
      "IPv6 alone": NOT_DUAL,
      "IPv4 and IPv6": "RequireDualStack IPv4,IPv6",
      "IPv6 and IPv4": "RequireDualStack IPv6,IPv4",
    },
  },
  {
    given: policy("RequireDualStack", "IPv6"),
    wants: {
      "IPv4 alone": `${NOT_DUAL}\n${without("IPv6")}`,
      "IPv6 alone": NOT_DUAL,
      "IPv4 and IPv6": "RequireDualStack IPv6,IPv4",
      "IPv6 and IPv4": "RequireDualStack IPv6,IPv4",
    },
  },
  {
    given: { ipFamilies: ["IPv6"] },
    wants: {
      "IPv4 alone": without("IPv6"),
      "IPv6 alone": "SingleStack IPv6",
      "IPv4 and IPv6": "SingleStack IPv6",
      "IPv6 and IPv4": "SingleStack IPv6",
    },
  },
  {
    given: policy("PreferDualStack", "IPv4", "IPv6"),
    wants: {
      "IPv4 alone": without("IPv6", 1),
      "IPv6 alone": without("IPv4"),
      "IPv4 and IPv6": "PreferDualStack IPv4,IPv6",
      "IPv6 and IPv4": "PreferDualStack IPv4,IPv6",
    },
  },
  {
    given: V6,
    wants: {
      "IPv4 alone": 'spec.clusterIPs[0]: Invalid value: ["fd43::77"]: IPv6 is not configured on this cluster',
      "IPv6 alone": "SingleStack IPv6 fd43::77",
      "IPv4 and IPv6": "SingleStack IPv6 fd43::77",
      "IPv6 and IPv4": "SingleStack IPv6 fd43::77",
    },
  },
  {
    given: { ...V4, ...policy("PreferDualStack") },
    wants: {
      "IPv4 alone": "PreferDualStack IPv4 10.43.7.77",
      "IPv6 alone": 'spec.clusterIPs[0]: Invalid value: ["10.43.7.77"]: IPv4 is not configured on this cluster',
      "IPv4 and IPv6": "PreferDualStack IPv4,IPv6 10.43.7.77",
      "IPv6 and IPv4": "PreferDualStack IPv4,IPv6 10.43.7.77",
    },
  },
  {
    given: NONE,
    wants: {
      "IPv4 alone": "SingleStack IPv4 None",
      "IPv6 alone": "SingleStack IPv6 None",
      "IPv4 and IPv6": "SingleStack IPv4 None",
      "IPv6 and IPv4": "SingleStack IPv6 None",
    },
  },
  {
    given: { ...NONE, selector: {} },
    wants: {
      "IPv4 alone": "RequireDualStack IPv4,IPv6 None",
      "IPv6 alone": "RequireDualStack IPv6,IPv4 None",
      "IPv4 and IPv6": "RequireDualStack IPv4,IPv6 None",
      "IPv6 and IPv4": "RequireDualStack IPv6,IPv4 None",
    },
  },
  {
    given: { ...NONE, ...policy("RequireDualStack") },
    wants: {
      "IPv4 alone": NOT_DUAL,
      "IPv6 alone": NOT_DUAL,
      "IPv4 and IPv6": "RequireDualStack IPv4,IPv6 None",
      "IPv6 and IPv4": "RequireDualStack IPv6,IPv4 None",
    },
  },
]

describe.each(Object.entries(CLUSTERS))("in a cluster with %s", (cluster, serviceCidrs) => {
  test("new Services get the families and policies that they ask for", async () => {
    const { admin } = await startServices({ serviceCidrs })
    for (const { given, wants } of CREATED) {
      const metadata = { name: "web", namespace: "default" }
      const spec = { ports: [{ port: 80 }], selector: { app: "x" }, ...given }
      const made = await answer(admin.create(Service, { metadata, spec }))
      expect({ given, made }).toEqual({ given, made: wants[cluster as keyof typeof CLUSTERS] })
      await admin.delete(Service, metadata).catch(() => undefined)
    }
  })
})

describe("in a cluster with both families", () => {
  const CHANGED: readonly {
    readonly title: string
    readonly given: Spec
    readonly patch: object
    readonly wants: string
  }[] = [
    {
      title: "a Service gets a second family with its policy",
      given: {},
      patch: policy("PreferDualStack"),
      wants: "PreferDualStack IPv4,IPv6",
    },
    {
      title: "the second address can be chosen",
      given: V4,
      patch: { ...policy("RequireDualStack"), clusterIPs: ["10.43.7.77", "fd43::77"] },
      wants: "RequireDualStack IPv4,IPv6 10.43.7.77 fd43::77",
    },
    {
      title: "SingleStack drops the second family",
      given: policy("RequireDualStack"),
      patch: policy("SingleStack"),
      wants: "SingleStack IPv4",
    },
    {
      title: "SingleStack with the first family drops the second address too",
      given: policy("RequireDualStack"),
      patch: policy("SingleStack", "IPv4"),
      wants: "SingleStack IPv4",
    },
    {
      title: "the second family can be removed only with SingleStack",
      given: policy("PreferDualStack"),
      patch: { ipFamilies: ["IPv4"] },
      wants: `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be 'SingleStack' to release the secondary IP family`,
    },
    {
      title: "the first family cannot change",
      given: {},
      patch: { ipFamilies: ["IPv6"] },
      wants: 'spec.clusterIPs[0]: Invalid value: "10.43.0.0": expected an IPv6 value as indicated by `ipFamilies[0]`',
    },
    {
      title: "a Service of type ExternalName loses families and policy",
      given: policy("RequireDualStack"),
      patch: { type: "ExternalName", externalName: "a.example" },
      wants: "",
    },
  ]
  test.each(CHANGED)("$title", async ({ given, patch, wants }) => {
    const { admin } = await startServices({ serviceCidrs: CLUSTERS["IPv4 and IPv6"] })
    const metadata = { name: "web", namespace: "default" }
    await admin.create(Service, { metadata, spec: { ports: [{ port: 80 }], selector: { app: "x" }, ...given } })
    const changed = await answer(admin.patch(Service, metadata, { type: "merge", body: { spec: patch } }))
    expect(changed.replace(/10\.43\.\d+\.\d+(?=": exp)/, "10.43.0.0")).toBe(wants)
  })

  test("the IPAddresses of both families come and go with the policy", async () => {
    const { admin } = await startServices({ serviceCidrs: CLUSTERS["IPv4 and IPv6"] })
    const metadata = { name: "web", namespace: "default" }
    const named = async () =>
      (await admin.list(IPAddress)).items
        .filter(({ spec }) => spec.parentRef.name === "web")
        .map(({ metadata: { name } }) => name!)
    const change = (body: Spec) => admin.patch(Service, metadata, { type: "merge", body: { spec: body } })
    // given a Service with an address of IPv6 that is written in another than the canonical form
    const { spec } = await admin.create(Service, {
      metadata,
      spec: { ports: [{ port: 80 }], clusterIP: "FD43::00AB", ipFamilyPolicy: "RequireDualStack" },
    })
    expect(spec.clusterIPs?.[0]).toBe("FD43::00AB")
    // then its IPAddress has the canonical one
    expect((await named()).toSorted()).toEqual([spec.clusterIPs![1]!, "fd43::ab"])
    // and when it is given up, its second address is free
    await change({ ipFamilyPolicy: "SingleStack" })
    expect(await named()).toEqual(["fd43::ab"])
    await change({ ipFamilyPolicy: "PreferDualStack", clusterIPs: ["FD43::00AB", spec.clusterIPs![1]!] })
    await admin.delete(Service, metadata)
    expect(await named()).toEqual([])
  })
})

test("addresses are allocated at random from a large IPv6 range, and never twice", async () => {
  const { admin } = await startServices({ serviceCidrs: ["fd43::/64"] })
  const made = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      admin.create(Service, { metadata: { name: `web-${i}`, namespace: "default" }, spec: { ports: [{ port: 80 }] } }),
    ),
  )
  const addresses = made.map(({ spec }) => spec.clusterIP!)
  expect(new Set(addresses).size).toBe(50)
  expect(addresses.every((ip) => /^fd43::(?:[0-9a-f]{1,4}:){3}[0-9a-f]{1,4}$/.test(ip))).toBe(true)
})

test("a cluster that gets a second family adds it to its ServiceCIDR", async () => {
  // given a cluster of IPv4 with a Service that prefers both
  const storage = new MemoryStorage({ clock: realClock, frozen: true })
  const before = await startServices({ storage, serviceCidrs: CLUSTERS["IPv4 alone"] })
  const metadata = { name: "web", namespace: "default" }
  await before.admin.create(Service, { metadata, spec: { ports: [{ port: 80 }], ...policy("PreferDualStack") } })
  await before.plane.close()
  // when it is started with both
  const { admin } = await startServices({ storage, serviceCidrs: CLUSTERS["IPv4 and IPv6"] })
  // then
  expect((await admin.get(ServiceCIDR, { name: "kubernetes" })).spec.cidrs).toEqual(CLUSTERS["IPv4 and IPv6"])
  const change = (spec: Spec) => admin.patch(Service, metadata, { type: "merge", body: { spec } })
  expect(shown(await change({ sessionAffinity: "ClientIP" }))).toBe("PreferDualStack IPv4")
  expect(shown(await change(policy("RequireDualStack")))).toBe("RequireDualStack IPv4,IPv6")
})
