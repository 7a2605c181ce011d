import { expect, test } from "bun:test"
import { gateway, grpc, http, listener, to, worldOf } from "../translate.fixtures.ts"

const parents = [{ name: "web" }]
const mirror = (name: string, more: object = {}) => ({
  type: "RequestMirror",
  requestMirror: { backendRef: to(name), ...more },
})
const ref = (service: string) => ({ namespace: "infra", service, port: 80 })
const rules = (...filters: readonly object[]) => ({ rules: [{ backendRefs: [to("one")], filters }] })

test.each([
  {
    title: "all requests by default",
    route: http("route", parents, rules(mirror("two"))),
    wants: [{ to: ref("two"), share: 1 }],
  },
  {
    title: "a percentage to each of two mirrors",
    route: http("route", parents, rules(mirror("two", { percent: 20 }), mirror("three", { percent: 0 }))),
    wants: [
      { to: ref("two"), share: 0.2 },
      { to: ref("three"), share: 0 },
    ],
  },
  {
    title: "a fraction, whose denominator is 100 by default",
    route: http(
      "route",
      parents,
      rules(
        mirror("two", { fraction: { numerator: 1, denominator: 1000 } }),
        mirror("three", { fraction: { numerator: 50, denominator: 100 } }),
      ),
    ),
    wants: [
      { to: ref("two"), share: 0.001 },
      { to: ref("three"), share: 0.5 },
    ],
  },
  {
    title: "gRPC requests over HTTP/2",
    route: grpc("route", parents, rules(mirror("two"))),
    wants: [{ to: { ...ref("two"), http2: true }, share: 1 }],
  },
  {
    title: "nothing to a Service that does not exist",
    route: http("route", parents, rules(mirror("missing"))),
    wants: [],
  },
])("a route mirrors $title", ({ route, wants }) => {
  const world = worldOf({ gateways: [gateway("web", [listener()])], routes: [route] })
  expect(world.target({}).mirrors ?? []).toEqual([...wants])
})

test("a mirror of one backend gets the requests of that backend", () => {
  const backendRefs = [to("one", { filters: [mirror("two")] }), to("three")]
  const route = http("route", parents, { rules: [{ backendRefs }] })
  const world = worldOf({ gateways: [gateway("web", [listener()])], routes: [route] })
  expect(world.target({}).backends.map(({ mirrors }) => mirrors?.[0]?.to.service)).toEqual(["two", undefined])
})
