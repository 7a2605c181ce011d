/**
 * The routing tests for HTTPRoutes of upstream's core conformance profiles, rewritten for this project. `stands` names
 * the test in sigs.k8s.io/gateway-api conformance/tests that a row replaces. All of those tests are listed in
 * test/conformance/ledger/gateway.
 */
import { expect, test } from "bun:test"
import {
  BY_HEADER,
  BY_HEADER_WANTS,
  expectRouted,
  header,
  path,
  rule,
  type RoutingRow,
} from "./core-routing.fixtures.ts"
import { gateway, grant, http, listener, to, worldOf } from "./translate.fixtures.ts"

const web = () => gateway("web", [listener()])
const parents = [{ name: "web" }]
/** An HTTPRoute without hostnames whose parent is the Gateway `web`. */
const routed = (...rules: readonly object[]) => ({ gateways: [web()], routes: [http("route", parents, { rules })] })

const ROWS: readonly RoutingRow[] = [
  {
    stands: "HTTPRouteSimpleSameNamespace",
    title: "a route without matches matches all requests",
    given: () => routed(rule("one")),
    wants: [{ gets: "one" }, { path: "/any", host: "other", gets: "one" }],
  },
  {
    stands: "HTTPRouteExactPathMatching",
    title: "an exact path matches only that path",
    given: () => routed(rule("one", path("/one", "Exact")), rule("two", path("/two", "Exact"))),
    wants: [
      { path: "/one", gets: "one" },
      { path: "/two", gets: "two" },
      { path: "/", gets: 404 },
      { path: "/one/example", gets: 404 },
      { path: "/two/", gets: 404 },
      { path: "/Two", gets: 404 },
    ],
  },
  {
    stands: "HTTPRoutePathMatchOrder",
    title: "an exact path precedes a prefix, and a longer prefix precedes a shorter one",
    given: () =>
      routed(
        rule("one", path("/match", "Exact")),
        rule("two", path("/match/exact", "Exact")),
        rule("three", path("/match/")),
        rule("one", path("/match/prefix/")),
        rule("two", path("/match/prefix/one")),
        rule("three", path("/any")),
        rule("one", path("/any/prefix")),
      ),
    wants: [
      { path: "/match", gets: "one" },
      { path: "/match/exact", gets: "two" },
      { path: "/match/other", gets: "three" },
      { path: "/match/prefix/x", gets: "one" },
      { path: "/match/prefix/one/any", gets: "two" },
      { path: "/any/prefix/x", gets: "one" },
      { path: "/anything", gets: 404 },
    ],
  },
  {
    stands: "HTTPRouteMatching",
    title: "a rule gets the requests of each of its matches",
    given: () =>
      routed(rule("one", path("/"), header(["version", "one"])), rule("two", path("/v2"), header(["version", "two"]))),
    wants: [
      { gets: "one" },
      { path: "/example", gets: "one" },
      { headers: { Version: "one" }, gets: "one" },
      { path: "/v2", gets: "two" },
      { path: "/v2/example", gets: "two" },
      { headers: { Version: "two" }, gets: "two" },
      { path: "/v2/", headers: { Version: "two" }, gets: "two" },
      { path: "/v2example", gets: "one" },
    ],
  },
  {
    stands: "HTTPRouteMatchingAcrossRoutes",
    title: "of two routes for a host, the one with the more specific match gets a request",
    given: () => ({
      gateways: [web()],
      routes: [
        http("part1", parents, {
          hostnames: ["a.example", "b.example"],
          rules: [rule("one", path("/"), header(["version", "one"]))],
        }),
        http("part2", parents, {
          hostnames: ["a.example"],
          rules: [rule("two", path("/v2"), header(["version", "two"]))],
        }),
      ],
    }),
    wants: [
      { host: "a.example", gets: "one" },
      { host: "a.example", path: "/v2", gets: "two" },
      { host: "a.example", headers: { Version: "two" }, gets: "two" },
      { host: "b.example", path: "/v2", gets: "one" },
      { host: "b.example", headers: { Version: "two" }, gets: "one" },
    ],
  },
  {
    stands: "HTTPRouteHeaderMatching",
    title: "a match with several headers needs all of them",
    given: () => routed(...BY_HEADER),
    wants: BY_HEADER_WANTS,
  },
  {
    stands: "HTTPRouteHostnameIntersection",
    title: "a route serves the hosts that it and the listener have in common",
    given: () => ({
      gateways: [
        gateway("web", [
          listener({ name: "exact", hostname: "very.specific.com" }),
          listener({ name: "wildcard", hostname: "*.wildcard.io" }),
          listener({ name: "other", hostname: "*.anotherwildcard.io" }),
        ]),
      ],
      routes: [
        http("exact", parents, {
          hostnames: ["non.matching.com", "*.nonmatching.io", "very.specific.com"],
          rules: [rule("one", path("/s1"))],
        }),
        http("several", parents, {
          hostnames: ["non.matching.com", "wildcard.io", "foo.wildcard.io", "foo.bar.wildcard.io"],
          rules: [rule("two", path("/s2"))],
        }),
        http("covering", parents, { hostnames: ["*.specific.com"], rules: [rule("three", path("/s3"))] }),
        http("same", parents, { hostnames: ["*.anotherwildcard.io"], rules: [rule("one", path("/s4"))] }),
      ],
    }),
    wants: [
      { host: "very.specific.com", path: "/s1", gets: "one" },
      { host: "very.specific.com:1234", path: "/s1", gets: "one" },
      { host: "non.matching.com", path: "/s1", gets: 404 },
      { host: "foo.wildcard.io", path: "/s1", gets: 404 },
      { host: "foo.wildcard.io", path: "/s2", gets: "two" },
      { host: "foo.bar.wildcard.io", path: "/s2", gets: "two" },
      { host: "bar.wildcard.io", path: "/s2", gets: 404 },
      { host: "wildcard.io", path: "/s2", gets: 404 },
      { host: "very.specific.com", path: "/s3", gets: "three" },
      { host: "foo.specific.com", path: "/s3", gets: 404 },
      { host: "foo.bar.anotherwildcard.io", path: "/s4", gets: "one" },
      { host: "anotherwildcard.io", path: "/s4", gets: 404 },
    ],
  },
  {
    stands: "HTTPRouteListenerHostnameMatching",
    title: "the listener with the more specific hostname gets a request",
    given: () => ({
      gateways: [
        gateway("web", [
          listener({ name: "l1", hostname: "bar.com" }),
          listener({ name: "l2", hostname: "foo.bar.com" }),
          listener({ name: "l3", hostname: "*.bar.com" }),
          listener({ name: "l4", hostname: "*.foo.com" }),
        ]),
      ],
      routes: [
        http("one", [{ name: "web", sectionName: "l1" }], { rules: [rule("one")] }),
        http("two", [{ name: "web", sectionName: "l2" }], { rules: [rule("two")] }),
        http(
          "three",
          [
            { name: "web", sectionName: "l3" },
            { name: "web", sectionName: "l4" },
          ],
          { rules: [rule("three")] },
        ),
      ],
    }),
    wants: [
      { host: "bar.com", gets: "one" },
      { host: "foo.bar.com", gets: "two" },
      { host: "baz.bar.com", gets: "three" },
      { host: "boo.bar.com", gets: "three" },
      { host: "multiple.prefixes.foo.com", gets: "three" },
      { host: "foo.com", gets: 404 },
      { host: "no.matching.host", gets: 404 },
    ],
  },
  {
    stands: "HTTPRouteMultipleGateways",
    title: "Gateways with different addresses serve only their own routes",
    given: () => ({
      gateways: [gateway("first", [listener()]), gateway("second", [listener()])],
      routes: [
        http("shared", [{ name: "first" }, { name: "second" }], { rules: [rule("one", path("/shared"))] }),
        http("to-first", [{ name: "first" }], { rules: [rule("two")] }),
        http("to-second", [{ name: "second" }], { rules: [rule("three")] }),
      ],
      ownAddresses: true,
    }),
    wants: [
      { gateway: "first", path: "/shared", gets: "one" },
      { gateway: "first", gets: "two" },
      { gateway: "second", path: "/shared", gets: "one" },
      { gateway: "second", gets: "three" },
    ],
  },
  {
    stands: "HTTPRouteWeight",
    title: "backends get requests by weight, and a backend with weight 0 gets none",
    given: () =>
      routed({ backendRefs: [to("one", { weight: 70 }), to("two", { weight: 30 }), to("three", { weight: 0 })] }),
    wants: [{ gets: "one or two" }],
  },
  {
    stands: "HTTPRouteNoBackendRefs",
    title: "a rule without backends, or whose backends all have weight 0, responds with 500",
    given: () =>
      routed({ matches: [path("/none")] }, { matches: [path("/zero")], backendRefs: [to("one", { weight: 0 })] }),
    wants: [
      { path: "/none", gets: 500 },
      { path: "/zero", gets: 500 },
    ],
  },
  {
    stands: "HTTPRouteRedirectHostAndStatus",
    title: "a redirect has the hostname and status code of its filter",
    given: () =>
      routed(
        {
          matches: [path("/host")],
          filters: [{ type: "RequestRedirect", requestRedirect: { hostname: "example.org" } }],
        },
        {
          matches: [path("/status")],
          filters: [{ type: "RequestRedirect", requestRedirect: { statusCode: 301, hostname: "example.org" } }],
        },
      ),
    wants: [
      { path: "/host", gets: "302 http://example.org/host" },
      { path: "/status?a=b", gets: "301 http://example.org/status?a=b" },
    ],
  },
  {
    stands: "HTTPRouteHTTPSListener",
    title: "routes of HTTPS listeners are served by the server name of the connection",
    given: () => ({
      gateways: [
        gateway("web", [
          listener({ name: "any", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "good" }] } }),
          listener({
            name: "own",
            port: 443,
            protocol: "HTTPS",
            hostname: "own.example",
            tls: { certificateRefs: [{ name: "good" }] },
          }),
        ]),
      ],
      routes: [
        http("any", [{ name: "web", sectionName: "any" }], { hostnames: ["any.example"], rules: [rule("one")] }),
        http("own", [{ name: "web", sectionName: "own" }], { rules: [rule("two")] }),
      ],
    }),
    wants: [
      { port: 443, serverName: "any.example", host: "any.example", gets: "one" },
      { port: 443, serverName: "own.example", host: "own.example", gets: "two" },
      { port: 443, serverName: "unknown.example", host: "unknown.example", gets: 404 },
      { port: 443, serverName: "any.example", host: "own.example", gets: 421 },
    ],
  },
  {
    stands: "HTTPRouteCrossNamespace",
    title: "a listener accepts routes from the namespaces that its selector matches",
    given: () => ({
      gateways: [
        gateway("web", [
          listener({
            allowedRoutes: { namespaces: { from: "Selector", selector: { matchLabels: { purpose: "backend" } } } },
          }),
        ]),
      ],
      routes: [
        http("other/route", [{ name: "web", namespace: "infra" }], { rules: [rule("one", path("/other"))] }),
        http("backend/route", [{ name: "web", namespace: "infra" }], { rules: [rule("one", path("/backend"))] }),
      ],
    }),
    wants: [
      { path: "/backend", gets: "one" },
      { path: "/other", gets: 404 },
    ],
  },
  {
    stands: "HTTPRouteReferenceGrant",
    title: "a Service in another namespace gets requests when a ReferenceGrant permits the reference",
    given: () => ({
      ...routed({ backendRefs: [to("one", { namespace: "other" })] }),
      grants: [
        grant(
          "other",
          [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "infra" }],
          [{ group: "", kind: "Service", name: "one" }],
        ),
      ],
    }),
    wants: [{ gets: "one" }],
  },
  {
    stands: "HTTPRoutePartiallyInvalidViaInvalidReferenceGrant",
    title: "a rule with a backend that is not permitted responds with 500, and other rules are served",
    given: () => ({
      ...routed(
        { matches: [path("/bad")], backendRefs: [to("one", { namespace: "other" })] },
        rule("one", path("/good")),
      ),
      grants: [
        grant(
          "other",
          [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "backend" }],
          [{ group: "", kind: "Service" }],
        ),
        grant(
          "other",
          [{ group: "gateway.networking.k8s.io", kind: "GRPCRoute", namespace: "infra" }],
          [{ group: "", kind: "Service" }],
        ),
        grant(
          "backend",
          [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "infra" }],
          [{ group: "", kind: "Service" }],
        ),
        grant(
          "other",
          [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "infra" }],
          [{ group: "", kind: "Service", name: "two" }],
        ),
      ],
    }),
    wants: [
      { path: "/bad", gets: 500 },
      { path: "/good", gets: "one" },
    ],
  },
]

test.each([...ROWS])("$stands: $title", expectRouted)

test("HTTPRouteRequestHeaderModifier: headers are set, added and removed for the backend", () => {
  const requestHeaderModifier = {
    set: [{ name: "X-Set", value: "1" }],
    add: [{ name: "X-Add", value: "2" }],
    remove: ["X-Remove"],
  }
  const filters = [{ type: "RequestHeaderModifier", requestHeaderModifier }]
  const { request } = worldOf(routed({ ...rule("one"), filters })).target({})
  expect(request?.set).toMatchObject([{ name: "X-Set", value: "1" }])
  expect(request?.add).toMatchObject([{ name: "X-Add", value: "2" }])
  expect([...(request?.remove ?? [])]).toEqual(["x-remove"])
})
