import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { describe, expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import type { Labels } from "../../../pkg/apimachinery/selectors/labels.ts"
import { DEFINITIONS } from "../../../pkg/gateway-api/definitions.ts"
import { Gateway } from "../../../pkg/gateway-api/gateway.ts"
import { GatewayClass } from "../../../pkg/gateway-api/gatewayclass.ts"
import { HTTPRoute } from "../../../pkg/gateway-api/httproute.ts"
import { BUNDLE_VERSION, MANAGED_BY, MANAGER, WRITTEN_BY } from "../../../pkg/gateway-api/k3ts-class.ts"
import type { Filter } from "./routes/filters.ts"
import { gatewayOf, get, OWN_ADDRESS, routeOf, servingGateways, serviceOf } from "./gateway.fixtures.ts"

const to = (name: string, more: object = {}) => ({ backendRefs: [{ name, port: 80, ...more }] })
const http = (port: number) => ({ name: "http", port, protocol: "HTTP" })
/** The definitions as another version of this program or another installer leaves them. */
const definitionsWith = (labels: Labels, categories: readonly string[], more: Labels = {}) =>
  DEFINITIONS.map(({ metadata: { name, annotations }, spec, ...rest }) => ({
    ...rest,
    metadata: { name, labels, annotations: { ...annotations, [WRITTEN_BY]: "before", ...more } },
    spec: { ...spec, names: { ...(spec as { readonly names: object }).names, categories } },
  }))

describe("the definitions of Gateway API", () => {
  test("GatewayClassObservedGenerationBump: each generation of a GatewayClass is accepted", async () => {
    await using given = await servingGateways()
    await given.installed()
    const found = await given.client.get(GatewayClass, { name: "k3ts" })
    await given.client.update(GatewayClass, { ...found, spec: { ...found.spec, description: "another" } })
    await given.cluster.eventually(async () => {
      const { metadata, status } = await given.client.get(GatewayClass, { name: "k3ts" })
      return status?.conditions?.[0]?.observedGeneration === 2 && metadata.generation === 2
    })
  })

  test("are updated when another version of this program created them", async () => {
    await using given = await servingGateways(definitionsWith({ [MANAGED_BY]: MANAGER }, ["old"]))
    await given.cluster.eventually(async () => {
      const { items } = await given.client.list(CustomResourceDefinition)
      return items.every(({ spec }) => spec.names.categories?.[0] === "gateway-api")
    })
  })

  test.each([
    { title: "another program has created them", labels: {}, annotations: {} },
    {
      title: "another program has applied another release of them",
      labels: { [MANAGED_BY]: MANAGER },
      annotations: { [BUNDLE_VERSION]: "v1.7.0" },
    },
  ])("are left unchanged if $title, and their objects are served", async ({ labels, annotations }) => {
    await using given = await servingGateways(definitionsWith(labels, ["theirs"], annotations))
    await given.installed()
    const { items } = await given.client.list(CustomResourceDefinition)
    expect(items.map(({ spec }) => spec.names.categories)).toEqual(items.map(() => ["theirs"]))
  })
})

describe.skipIf(OWN_ADDRESS === undefined)("a Gateway", () => {
  test("is served with its routes, and its port is closed when it is deleted", async () => {
    // given
    await using given = await servingGateways()
    await given.installed()
    using _one = await serviceOf(given, "one")
    const port = await freePort()

    // when
    await given.client.create(Gateway, gatewayOf("web", [http(port)]))
    await given.client.create(HTTPRoute, routeOf("shop", { hostnames: ["shop.example"], rules: [to("one")] }))
    const gateway = await given.gatewayWith("web", "Programmed", "Programmed")
    await given.routeWith("shop", "Accepted", "Accepted")

    // then
    expect(gateway.status?.addresses).toEqual([{ type: "IPAddress", value: "192.0.2.1" }])
    expect((await get(port, "shop.example", "/x?y")).asked).toMatchObject({ service: "one", url: "/x?y" })
    expect((await get(port, "other.example")).status).toBe(404)
    expect(given.figures()).toMatch(
      /k3ts_gateway_requests_total\{namespace="default",kind="HTTPRoute",route="shop",service="one",code="200"\} 1/,
    )

    // when it goes
    await given.client.delete(Gateway, { namespace: "default", name: "web" })
    await given.cluster.eventually(async () => (await get(port, "shop.example").catch(() => "closed")) === "closed")
    await given.cluster.eventually(async () => {
      const { status } = await given.client.get(HTTPRoute, { namespace: "default", name: "shop" })
      return status?.parents.length === 0
    })
  })

  test("GatewayModifyListeners: follows changes of its listeners", async () => {
    // given
    await using given = await servingGateways()
    await given.installed()
    const [first, second] = [await freePort(), await freePort()]
    await given.client.create(Gateway, gatewayOf("web", [http(first)]))
    const gateway = await given.gatewayWith("web", "Programmed", "Programmed")
    expect((await get(first, "any.example")).status).toBe(404)

    // when
    const changed = { ...gateway, spec: { ...gateway.spec, listeners: [{ ...http(second), name: "second" }] } }
    const { metadata } = await given.client.update(Gateway, changed)
    expect(metadata.generation).toBe(2)
    const { status } = await given.gatewayWith("web", "Programmed", "Programmed")

    // then
    expect(status?.listeners?.map(({ name }) => name)).toEqual(["second"])
    expect((await get(second, "any.example")).status).toBe(404)
    await given.cluster.eventually(async () => (await get(first, "any.example").catch(() => "closed")) === "closed")
  })

  test("HTTPRouteServiceTypes: sends requests to Services without selector and without cluster IP", async () => {
    await using given = await servingGateways()
    await given.installed()
    using _headless = await serviceOf(given, "headless", "default", { clusterIP: "None" })
    const port = await freePort()
    await given.client.create(Gateway, gatewayOf("web", [http(port)]))
    await given.client.create(HTTPRoute, routeOf("route", { rules: [to("headless")] }))
    await given.routeWith("route", "Accepted", "Accepted")
    expect((await get(port, "any.example")).asked?.service).toBe("headless")
  })

  test("accepts routes only from allowed namespaces, and backends of other namespaces only with a ReferenceGrant", async () => {
    // given
    await using given = await servingGateways()
    await given.installed()
    await given.client.create(Namespace, { metadata: { name: "other" } })
    using _one = await serviceOf(given, "one", "other")
    const port = await freePort()
    await given.client.create(Gateway, gatewayOf("web", [http(port)]))

    // when
    await given.client.create(HTTPRoute, routeOf("foreign", { rules: [to("one")] }, "other"))
    await given.client.create(HTTPRoute, routeOf("own", { rules: [to("one", { namespace: "other" })] }))

    // then
    await given.routeWith("foreign", "Accepted", "NotAllowedByListeners", "other")
    await given.routeWith("own", "ResolvedRefs", "RefNotPermitted")
    expect((await get(port, "any.example")).status).toBe(500)
  })

  test("cannot use a port that the node reserves, or a port that has another protocol", async () => {
    await using given = await servingGateways()
    await given.installed()
    const port = await freePort()
    await given.client.create(Gateway, gatewayOf("ssh", [http(22)]))
    await given.client.create(Gateway, gatewayOf("web", [http(port)]))
    await given.gatewayWith("web", "Programmed", "Programmed")
    const passthrough = { name: "tls", port, protocol: "TLS", tls: { mode: "Passthrough" as const } }
    await given.client.create(Gateway, gatewayOf("younger", [passthrough]))
    const listenerOf = async (name: string) =>
      (await given.gatewayWith(name, "Accepted", "ListenersNotValid")).status?.listeners?.[0]?.conditions ?? []
    expect(await listenerOf("ssh")).toContainEqual(
      expect.objectContaining({ type: "Accepted", status: "False", reason: "PortUnavailable" }),
    )
    expect(await listenerOf("younger")).toContainEqual(
      expect.objectContaining({ type: "Conflicted", status: "True", reason: "ProtocolConflict" }),
    )
  })

  test("keeps its host when another Gateway at the same address and port gets a later route for it", async () => {
    // given
    await using given = await servingGateways()
    await given.installed()
    using _one = await serviceOf(given, "one")
    using _two = await serviceOf(given, "two")
    const port = await freePort()
    for (const name of ["web", "younger"]) await given.client.create(Gateway, gatewayOf(name, [http(port)]))
    await given.client.create(HTTPRoute, routeOf("mine", { hostnames: ["shop.example"], rules: [to("one")] }))
    await given.routeWith("mine", "Accepted", "Accepted")

    // when
    const matches = [{ path: { type: "Exact" as const, value: "/pay" } }]
    const theft = { parentRefs: [{ name: "younger" }], hostnames: ["shop.example"], rules: [{ matches, ...to("two") }] }
    await given.client.create(HTTPRoute, routeOf("theirs", theft))
    await given.routeWith("theirs", "Accepted", "HostnameConflict")

    // then
    expect((await get(port, "shop.example", "/pay")).asked?.service).toBe("one")
  })

  test("changes requests and responses by filters, and refuses filters that would make messages invalid", async () => {
    // given
    await using given = await servingGateways()
    await given.installed()
    using _one = await serviceOf(given, "one")
    const port = await freePort()
    await given.client.create(Gateway, gatewayOf("web", [http(port)]))
    const rule = (path: string, ...filters: readonly Filter[]) => ({
      matches: [{ path: { type: "PathPrefix" as const, value: path } }],
      filters,
      ...to("one"),
    })
    const request = (name: string, value: string): Filter => ({
      type: "RequestHeaderModifier",
      requestHeaderModifier: { set: [{ name, value }] },
    })
    await given.client.create(
      HTTPRoute,
      routeOf("changing", {
        rules: [
          rule(
            "/changed",
            request("X-Set", "new"),
            { type: "ResponseHeaderModifier", responseHeaderModifier: { remove: ["X-Of"] } },
            {
              type: "URLRewrite",
              urlRewrite: { hostname: "in.example", path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" } },
            },
          ),
          rule("/length", request("Content-Length", "7")),
          rule("/split", request("X-Split", "a\r\nHost: evil")),
        ],
      }),
    )
    await given.routeWith("changing", "PartiallyInvalid", "UnsupportedValue")

    // then
    const changed = await get(port, "shop.example", "/changed/a?b", { "x-set": "old" })
    expect(changed.headers["x-of"]).toBeUndefined()
    expect(changed.asked).toMatchObject({ url: "/a?b", headers: { host: "in.example", "x-set": "new" } })
    expect((await get(port, "shop.example", "/length")).status).toBe(500)
    expect((await get(port, "shop.example", "/split")).status).toBe(500)
  })
})
