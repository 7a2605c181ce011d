import { expect, test } from "bun:test"
import type { AnyRoute } from "../watching/objects.ts"
import { gateway, grpc, http, listener, to, worldOf } from "../translate.fixtures.ts"

const ACCEPTED = "Accepted True Accepted"
const REFUSED = "Accepted False HostnameConflict"
const at = (...names: readonly string[]) => names.map((name) => ({ name }))
const spec = (service: string, ...hostnames: readonly string[]) => ({
  ...(hostnames.length === 0 ? {} : { hostnames }),
  rules: [{ backendRefs: [to(service)] }],
})
const one = listener({ name: "one", port: 80 })
const two = listener({ name: "two", port: 81, hostname: "b.example" })

interface Row {
  readonly title: string
  /** The Gateways, each with these listeners. */
  readonly gateways?: readonly string[]
  readonly listeners?: readonly object[]
  readonly ownAddresses?: boolean
  readonly older: AnyRoute
  readonly younger: AnyRoute
  /** The condition Accepted of the younger route, and its message. */
  readonly wants: string
  readonly message?: string
}

test.each<Row>([
  {
    title: "a GRPCRoute for the host of an older HTTPRoute is refused",
    older: http("old", at("web"), spec("one", "a.example")),
    younger: grpc("new", at("web"), spec("two", "a.example")),
    wants: REFUSED,
    message: "hosts are taken by an older HTTPRoute: a.example (HTTPRoute infra/old)",
  },
  {
    title: "an HTTPRoute for all hosts is refused after a GRPCRoute for one of them",
    older: grpc("old", at("web"), spec("one", "a.example")),
    younger: http("new", at("web"), spec("two")),
    wants: REFUSED,
    message: "hosts are taken by an older GRPCRoute: every host (GRPCRoute infra/old)",
  },
  {
    title: "a GRPCRoute without a host in common with an HTTPRoute is accepted",
    older: http("old", at("web"), spec("one", "*.a.example")),
    younger: grpc("new", at("web"), spec("two", "a.example")),
    wants: ACCEPTED,
    message: "",
  },
  {
    title: "a GRPCRoute that one of two listeners refuses has a condition that says so",
    listeners: [one, two],
    older: http("old", [{ name: "web", sectionName: "two" }], spec("one", "b.example")),
    younger: grpc("new", at("web"), spec("two", "b.example")),
    wants: ACCEPTED,
    message: "hosts are taken by an older HTTPRoute: b.example (HTTPRoute infra/old)",
  },
  {
    title: "a route whose host another Gateway has at the same address and port is refused",
    gateways: ["web", "other"],
    older: http("old", at("web"), spec("one", "a.example")),
    younger: http("new", at("other"), spec("two", "a.example")),
    wants: REFUSED,
    message: "hosts are served for older routes of other Gateways: a.example (Gateway infra/web)",
  },
  {
    title: "a route that loses some of its hosts to another Gateway has a condition with three of them",
    gateways: ["web", "other"],
    older: http("old", at("web"), spec("one", "a.example", "b.example", "c.example", "d.example")),
    younger: http("new", at("other"), spec("two", "a.example", "b.example", "c.example", "d.example", "e.example")),
    wants: ACCEPTED,
    message:
      "hosts are served for older routes of other Gateways: a.example (Gateway infra/web), " +
      "b.example (Gateway infra/web), c.example (Gateway infra/web) and 1 more",
  },
  {
    title: "a route whose Gateway has an address of its own keeps its hosts",
    gateways: ["web", "other"],
    ownAddresses: true,
    older: http("old", at("web"), spec("one", "a.example")),
    younger: http("new", at("other"), spec("two", "a.example")),
    wants: ACCEPTED,
    message: "",
  },
])("$title", ({ gateways = ["web"], listeners = [one], ownAddresses = false, older, younger, wants, message }) => {
  const world = worldOf({
    gateways: gateways.map((name) => gateway(name, listeners)),
    routes: [older, younger],
    ownAddresses,
  })
  expect(world.route(older)[0]![0]).toBe(ACCEPTED)
  expect(world.route(younger)[0]![0]).toBe(wants)
  expect(world.message(younger)).toBe(message!)
  const [attached] = world.listeners(gateways.at(-1)!)
  const expected = gateways.length === 2 ? [wants] : [ACCEPTED, wants]
  if (listeners.length === 1) expect(attached!.attachedRoutes).toBe(expected.filter((each) => each === ACCEPTED).length)
})
