/** Rows of requests to Gateways with routes, and what becomes of them. */
import { expect } from "bun:test"
import { to, worldOf, type Asked, type World } from "./translate.fixtures.ts"

export interface RoutingRow {
  readonly stands: string
  readonly title: string
  readonly given: () => World
  readonly wants: readonly (Asked & { readonly gets: string | number })[]
}

/** Checks where the requests of a row go. */
export function expectRouted({ given, wants }: RoutingRow): void {
  const world = worldOf(given())
  expect(wants.map(({ gets: _gets, ...asked }) => ({ ...asked, gets: world.ask(asked) }))).toEqual([...wants])
}

export const path = (value: string, type = "PathPrefix") => ({ path: { type, value } })
export const header = (...pairs: readonly (readonly [string, string])[]) => ({
  headers: pairs.map(([name, value]) => ({ name, value })),
})
export const rule = (service: string, ...matches: readonly object[]) => ({
  backendRefs: [to(service)],
  ...(matches.length === 0 ? {} : { matches }),
})
/** Rules that differ in the headers that they match, and where requests go. */
export const BY_HEADER = [
  rule("one", header(["version", "one"])),
  rule("two", header(["version", "two"])),
  rule("one", header(["version", "two"], ["color", "orange"])),
  rule("one", header(["color", "blue"]), header(["color", "green"])),
]
export const BY_HEADER_WANTS = [
  { headers: { Version: "one" }, gets: "one" },
  { headers: { Version: "two" }, gets: "two" },
  { headers: { Version: "two", Color: "orange" }, gets: "one" },
  { headers: { Version: "two", Color: "blue" }, gets: "two" },
  { headers: { Color: "green" }, gets: "one" },
  { headers: { Color: "orange" }, gets: 404 },
  { headers: { "Some-Other": "one" }, gets: 404 },
]
