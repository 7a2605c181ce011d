/**
 * The routing tests for GRPCRoutes and TLSRoutes of upstream's core conformance profiles, rewritten for this project.
 * `stands` names the test in sigs.k8s.io/gateway-api conformance/tests that a row replaces.
 */
import { expect, test } from "bun:test"
import { BY_HEADER, BY_HEADER_WANTS, expectRouted, rule, type RoutingRow } from "./core-routing.fixtures.ts"
import { gateway, grpc, listener, tls, to, worldOf } from "./translate.fixtures.ts"

const web = () => gateway("web", [listener()])
const parents = [{ name: "web" }]

const ROWS: readonly RoutingRow[] = [
  {
    stands: "GRPCExactMethodMatching",
    title: "gRPC requests are routed by service and method",
    given: () => ({
      gateways: [web()],
      routes: [
        grpc("route", parents, {
          rules: [
            rule("one", { method: { service: "pkg.Echo", method: "One" } }),
            rule("two", { method: { service: "pkg.Echo", method: "Two" } }),
            rule("three", { method: { service: "pkg.Other" } }),
          ],
        }),
      ],
    }),
    wants: [
      { path: "/pkg.Echo/One", method: "POST", gets: "one" },
      { path: "/pkg.Echo/Two", method: "POST", gets: "two" },
      { path: "/pkg.Echo/Three", method: "POST", gets: 404 },
      { path: "/pkg.Other/Any", method: "POST", gets: "three" },
    ],
  },
  {
    stands: "GRPCRouteHeaderMatching",
    title: "gRPC requests are routed by headers",
    given: () => ({ gateways: [web()], routes: [grpc("route", parents, { rules: BY_HEADER })] }),
    wants: BY_HEADER_WANTS,
  },
  {
    stands: "GRPCRouteListenerHostnameMatching",
    title: "GRPCRoutes are served at the listeners that they name",
    given: () => ({
      gateways: [
        gateway("web", [
          listener({ name: "l1", hostname: "bar.com" }),
          listener({ name: "l2", hostname: "*.bar.com" }),
        ]),
      ],
      routes: [
        grpc("one", [{ name: "web", sectionName: "l1" }], { rules: [rule("one")] }),
        grpc("two", [{ name: "web", sectionName: "l2" }], { rules: [rule("two")] }),
      ],
    }),
    wants: [
      { host: "bar.com", gets: "one" },
      { host: "foo.bar.com", gets: "two" },
      { host: "foo.com", gets: 404 },
    ],
  },
  {
    stands: "GRPCRouteWeight",
    title: "backends of GRPCRoutes get requests by weight",
    given: () => ({
      gateways: [web()],
      routes: [
        grpc("route", parents, {
          rules: [{ backendRefs: [to("one", { weight: 70 }), to("two", { weight: 30 }), to("three", { weight: 0 })] }],
        }),
      ],
    }),
    wants: [{ gets: "one or two" }],
  },
]

test.each([...ROWS])("$stands: $title", expectRouted)

test("TLSRouteHostnameIntersection: connections are forwarded for the hosts that route and listener have in common", () => {
  const handsOn = (name: string, hostname: string) =>
    listener({ name, port: 443, protocol: "TLS", hostname, tls: { mode: "Passthrough" } })
  const world = worldOf({
    gateways: [gateway("web", [handsOn("exact", "abc.example.com"), handsOn("wildcard", "*.less.com")])],
    routes: [
      tls("exact", parents, { hostnames: ["*.example.com"], rules: [{ backendRefs: [to("one")] }] }),
      tls("wildcard", parents, { hostnames: ["*.more.less.com"], rules: [{ backendRefs: [to("two")] }] }),
    ],
  })
  const names = ["abc.example.com", "other.example.com", "a.more.less.com", "a.less.com", "non.matching.com"]
  expect(names.map((name) => world.connect(name))).toEqual(["one", undefined, "two", undefined, undefined])
})

test("TLSRouteSimpleSameNamespace: connections are forwarded by the server name of the client", () => {
  const passthrough = listener({
    name: "tls",
    port: 443,
    protocol: "TLS",
    hostname: "*.example.com",
    tls: { mode: "Passthrough" },
  })
  const world = worldOf({
    gateways: [gateway("web", [passthrough])],
    routes: [tls("route", parents, { hostnames: ["a.example.com"], rules: [{ backendRefs: [to("one")] }] })],
  })
  expect(world.connect("a.example.com")).toBe("one")
  expect(world.connect("b.example.com")).toBeUndefined()
  expect(world.isDecrypted("a.example.com")).toBe(false)
})
