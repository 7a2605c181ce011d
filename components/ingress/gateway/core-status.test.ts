/**
 * The tests of conditions in upstream's core conformance profiles, rewritten for this project. `stands` names the test
 * in sigs.k8s.io/gateway-api conformance/tests that a row replaces.
 */
import { expect, test } from "bun:test"
import { gateway, grant, grpc, http, listener, tls, to, worldOf, type World } from "./translate.fixtures.ts"
import type { AnyRoute } from "./watching/objects.ts"

const parents = [{ name: "web" }]
const web = (...listeners: readonly object[]) => gateway("web", listeners.length === 0 ? [listener()] : listeners)
const all = { namespaces: { from: "All" } }
const https = (certificateRef: object, more: object = {}) =>
  listener({ name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs: [certificateRef] }, ...more })

/** The expected conditions of the Gateway `web` and its listeners. What a row leaves out is not compared. */
interface GatewayRow {
  readonly stands: string
  readonly title: string
  readonly given: World
  readonly wants: readonly string[]
  readonly listeners?: readonly {
    readonly kinds?: readonly string[]
    readonly attachedRoutes?: number
    readonly has: string
  }[]
}

const foreign = { name: "good", namespace: "other" }
const secretGrant = (from: object, to: object) => [
  grant(
    "other",
    [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "infra", ...from }],
    [{ group: "", kind: "Secret", ...to }],
  ),
]
const NOT_PERMITTED = [{ has: "ResolvedRefs False RefNotPermitted" }, { has: "Programmed False Invalid" }]

test.each<GatewayRow>([
  {
    stands: "GatewayObservedGenerationBump",
    title: "a Gateway with valid listeners is accepted and programmed",
    given: { gateways: [web()] },
    wants: ["Accepted True Accepted", "Programmed True Programmed"],
    listeners: [{ has: "Accepted True Accepted" }],
  },
  {
    stands: "GatewayListenerUnsupportedProtocol",
    title: "a Gateway with one listener of an unknown protocol is accepted for its other listeners",
    given: { gateways: [web(listener(), listener({ name: "odd", port: 81, protocol: "invalid.io/protocol" }))] },
    wants: ["Accepted True ListenersNotValid", "Programmed True Programmed"],
    listeners: [{ has: "Accepted True Accepted" }, { kinds: [], has: "Accepted False UnsupportedProtocol" }],
  },
  {
    stands: "GatewayListenerUnsupportedProtocol",
    title: "a Gateway whose only listener has an unknown protocol is not accepted",
    given: { gateways: [web(listener({ protocol: "invalid.io/protocol" }))] },
    wants: ["Accepted False ListenersNotValid", "Programmed False Invalid"],
  },
  {
    stands: "GatewayInvalidParametersRef",
    title: "a Gateway with parameters is not accepted",
    given: {
      gateways: [
        gateway("web", [listener()], {
          infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "x" } },
        }),
      ],
    },
    wants: ["Accepted False InvalidParameters", "Programmed False Invalid"],
  },
  {
    stands: "GatewayInvalidRouteKind",
    title: "a listener that names an unknown kind of route supports the other kinds that it names",
    given: {
      gateways: [
        web(
          listener({ allowedRoutes: { kinds: [{ kind: "InvalidRoute" }] } }),
          listener({
            name: "both",
            port: 81,
            allowedRoutes: { kinds: [{ kind: "InvalidRoute" }, { kind: "HTTPRoute" }] },
          }),
        ),
      ],
    },
    wants: ["Accepted True Accepted", "Programmed False Invalid"],
    listeners: [
      { kinds: [], has: "ResolvedRefs False InvalidRouteKinds" },
      { kinds: ["HTTPRoute"], has: "ResolvedRefs False InvalidRouteKinds" },
    ],
  },
  ...[
    { name: "missing" },
    { name: "broken" },
    { name: "good", kind: "ConfigMap" },
    { name: "good", group: "wrong.group.io" },
  ].map((ref) => ({
    stands: "GatewayInvalidTLSConfiguration",
    title: `a certificateRef of ${JSON.stringify(ref)} is invalid`,
    given: { gateways: [web(https(ref))] },
    wants: ["Accepted True Accepted", "Programmed False Invalid"],
    listeners: [{ has: "ResolvedRefs False InvalidCertificateRef" }],
  })),
  {
    stands: "GatewaySecretMissingReferenceGrant",
    title: "a Secret of another namespace without a ReferenceGrant",
    given: { gateways: [web(https(foreign))] },
    wants: ["Accepted True Accepted", "Programmed False Invalid"],
    listeners: NOT_PERMITTED.slice(0, 1),
  },
  ...[
    { from: { kind: "HTTPRoute" }, to: {} },
    { from: { namespace: "backend" }, to: {} },
    { from: {}, to: { kind: "Service" } },
    { from: {}, to: { name: "another" } },
  ].map(({ from, to: referent }) => ({
    stands: "GatewaySecretInvalidReferenceGrant",
    title: `a ReferenceGrant from ${JSON.stringify(from)} to ${JSON.stringify(referent)} does not permit the Secret`,
    given: { gateways: [web(https(foreign))], grants: secretGrant(from, referent) },
    wants: ["Accepted True Accepted", "Programmed False Invalid"],
    listeners: NOT_PERMITTED.slice(0, 1),
  })),
  {
    stands: "GatewaySecretReferenceGrantAllInNamespace",
    title: "a ReferenceGrant for all Secrets permits one",
    given: { gateways: [web(https(foreign))], grants: secretGrant({}, {}) },
    wants: ["Accepted True Accepted", "Programmed True Programmed"],
    listeners: [{ has: "ResolvedRefs True ResolvedRefs" }],
  },
  {
    stands: "GatewaySecretReferenceGrantSpecific",
    title: "a ReferenceGrant for a Secret permits it",
    given: { gateways: [web(https(foreign))], grants: secretGrant({}, { name: "good" }) },
    wants: ["Accepted True Accepted", "Programmed True Programmed"],
    listeners: [{ has: "Programmed True Programmed" }],
  },
  {
    stands: "GatewayWithAttachedRoutes",
    title: "a route is counted at each listener that has one of its hosts, even without a valid certificate",
    given: {
      gateways: [web(listener({ allowedRoutes: all, hostname: "a.example" }), https({ name: "missing" }))],
      routes: [
        http("first", parents, { hostnames: ["a.example"], rules: [{ backendRefs: [to("one")] }] }),
        http("second", parents, { hostnames: ["b.example"], rules: [{ backendRefs: [to("missing")] }] }),
      ],
    },
    wants: ["Accepted True Accepted", "Programmed True Programmed"],
    listeners: [
      { attachedRoutes: 1, has: "Programmed True Programmed" },
      { attachedRoutes: 2, has: "ResolvedRefs False InvalidCertificateRef" },
    ],
  },
  {
    stands: "TLSRouteListenerPassthroughSupportedKinds",
    title: "a listener of mode Passthrough supports TLSRoutes",
    given: { gateways: [web(listener({ protocol: "TLS", tls: { mode: "Passthrough" } }))] },
    wants: ["Accepted True Accepted", "Programmed True Programmed"],
    listeners: [{ kinds: ["TLSRoute"], has: "Accepted True Accepted" }],
  },
  {
    stands: "TLSRouteListenerTerminateNotSupported",
    title: "a listener of protocol TLS and mode Terminate is refused",
    given: {
      gateways: [web(listener({ protocol: "TLS", tls: { mode: "Terminate", certificateRefs: [{ name: "good" }] } }))],
    },
    wants: ["Accepted False ListenersNotValid", "Programmed False Invalid"],
    listeners: [{ attachedRoutes: 0, has: "Accepted False UnsupportedValue" }],
  },
  {
    stands: "",
    title: "a Gateway that requires client certificates is refused",
    given: {
      gateways: [
        gateway("web", [https({ name: "good" })], {
          tls: {
            frontend: {
              default: { validation: { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }] } },
            },
          },
        }),
      ],
    },
    wants: ["Accepted False Invalid", "Programmed False Invalid"],
  },
])("$stands: $title", ({ given, wants, listeners = [] }) => {
  const world = worldOf(given)
  expect(world.gateway("web")).toEqual([...wants])
  for (const [i, { has, ...more }] of listeners.entries()) {
    const told = world.listeners("web")[i]!
    expect(told.conditions).toContain(has)
    expect(told).toMatchObject(more)
  }
})

interface RouteRow {
  readonly stands: string
  readonly title: string
  readonly given: Omit<World, "routes">
  readonly route: AnyRoute
  readonly wants: readonly string[]
  /** The status that a request to the Gateway `web` is answered with. */
  readonly gets?: number | string
}

const plain = { gateways: [web()] }
const handedOn = { gateways: [web(listener({ protocol: "TLS", tls: { mode: "Passthrough" } }))] }
const backends = (...refs: readonly object[]) => ({ rules: [{ backendRefs: refs }] })
const ACCEPTED = "Accepted True Accepted"
const RESOLVED = "ResolvedRefs True ResolvedRefs"

test.each<RouteRow>([
  {
    stands: "HTTPRouteObservedGenerationBump",
    title: "a route with valid references is accepted",
    given: plain,
    route: http("route", parents, backends(to("one"))),
    wants: [ACCEPTED, RESOLVED],
  },
  {
    stands: "HTTPRouteInvalidBackendRefUnknownKind",
    title: "a backend of an unknown kind",
    given: plain,
    route: http("route", parents, backends({ group: "unknown.io", kind: "Unknown", name: "one" })),
    wants: [ACCEPTED, "ResolvedRefs False InvalidKind"],
    gets: 500,
  },
  {
    stands: "HTTPRouteInvalidNonExistentBackendRef",
    title: "a Service that does not exist",
    given: plain,
    route: http("route", parents, backends(to("missing"))),
    wants: [ACCEPTED, "ResolvedRefs False BackendNotFound"],
    gets: 500,
  },
  {
    stands: "HTTPRouteInvalidCrossNamespaceBackendRef",
    title: "a Service of another namespace",
    given: plain,
    route: http("route", parents, backends(to("one", { namespace: "other" }))),
    wants: [ACCEPTED, "ResolvedRefs False RefNotPermitted"],
    gets: 500,
  },
  {
    stands: "HTTPRouteInvalidReferenceGrant",
    title: "a ReferenceGrant in the namespace of the route",
    given: {
      ...plain,
      grants: [
        grant(
          "infra",
          [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "infra" }],
          [{ group: "", kind: "Service" }],
        ),
      ],
    },
    route: http("route", parents, backends(to("one", { namespace: "other" }))),
    wants: [ACCEPTED, "ResolvedRefs False RefNotPermitted"],
    gets: 500,
  },
  {
    stands: "HTTPRouteInvalidCrossNamespaceParentRef",
    title: "a route of a namespace that the listener does not allow",
    given: plain,
    route: http("other/route", [{ name: "web", namespace: "infra" }], backends(to("one"))),
    wants: ["Accepted False NotAllowedByListeners", RESOLVED],
    gets: 404,
  },
  {
    stands: "HTTPRouteInvalidParentRefNotMatchingSectionName",
    title: "a listener that does not exist",
    given: plain,
    route: http("route", [{ name: "web", sectionName: "missing" }], backends(to("one"))),
    wants: ["Accepted False NoMatchingParent", RESOLVED],
    gets: 404,
  },
  {
    stands: "HTTPRouteDisallowedKind",
    title: "an HTTPRoute at a listener for TLSRoutes",
    given: handedOn,
    route: http("route", parents, backends(to("one"))),
    wants: ["Accepted False NotAllowedByListeners", RESOLVED],
  },
  {
    stands: "GatewayWithAttachedRoutes",
    title: "an HTTPRoute with hosts that no listener has",
    given: { gateways: [web(listener({ hostname: "a.example" }))] },
    route: http("route", parents, { hostnames: ["b.example"], ...backends(to("one")) }),
    wants: ["Accepted False NoMatchingListenerHostname", RESOLVED],
    gets: 404,
  },
  {
    stands: "TLSRouteInvalidNoMatchingListener",
    title: "a TLSRoute at a listener for HTTP",
    given: plain,
    route: tls("route", parents, { hostnames: ["a.example"], ...backends(to("one")) }),
    wants: ["Accepted False NotAllowedByListeners", RESOLVED],
  },
  {
    stands: "TLSRouteInvalidBackendRefNonexistent",
    title: "a TLSRoute to a Service that does not exist",
    given: handedOn,
    route: tls("route", parents, { hostnames: ["a.example"], ...backends(to("missing")) }),
    wants: [ACCEPTED, "ResolvedRefs False BackendNotFound"],
  },
  {
    stands: "TLSRouteInvalidBackendRefUnknownKind",
    title: "a TLSRoute to a backend of an unknown kind",
    given: handedOn,
    route: tls("route", parents, { hostnames: ["a.example"], ...backends({ group: "x.io", kind: "X", name: "x" }) }),
    wants: [ACCEPTED, "ResolvedRefs False InvalidKind"],
  },
  {
    stands: "TLSRouteInvalidReferenceGrant",
    title: "a TLSRoute to a Service of another namespace",
    given: handedOn,
    route: tls("route", parents, { hostnames: ["a.example"], ...backends(to("one", { namespace: "other" })) }),
    wants: [ACCEPTED, "ResolvedRefs False RefNotPermitted"],
  },
  {
    stands: "TLSRouteInvalidNoMatchingListenerHostname",
    title: "a TLSRoute with hosts that no listener has",
    given: { gateways: [web(listener({ protocol: "TLS", hostname: "b.example", tls: { mode: "Passthrough" } }))] },
    route: tls("route", parents, { hostnames: ["a.example"], ...backends(to("one")) }),
    wants: ["Accepted False NoMatchingListenerHostname", RESOLVED],
  },
  {
    stands: "",
    title: "a GRPCRoute with a filter that is not supported",
    given: plain,
    route: grpc("route", parents, {
      rules: [
        {
          backendRefs: [to("one")],
          filters: [{ type: "ExtensionRef", extensionRef: { group: "x.io", kind: "X", name: "x" } }],
        },
      ],
    }),
    wants: ["Accepted False UnsupportedValue", RESOLVED],
    gets: 500,
  },
  {
    stands: "",
    title: "a mirror to a Service that does not exist",
    given: plain,
    route: http("route", parents, {
      rules: [
        {
          backendRefs: [to("one")],
          filters: [{ type: "RequestMirror", requestMirror: { backendRef: to("missing") } }],
        },
      ],
    }),
    wants: [ACCEPTED, "ResolvedRefs False BackendNotFound"],
    gets: "one",
  },
])("$stands: $title has its condition and its response", ({ given, route, wants, gets }) => {
  const world = worldOf({ ...given, routes: [route] })
  expect(world.route(route)).toEqual([[...wants]])
  if (gets !== undefined) expect(world.ask({})).toBe(gets)
})
