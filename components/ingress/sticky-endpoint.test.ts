import { expect, test } from "bun:test"
import type { Endpoint } from "./messages/messages.ts"
import { stickyEndpoint } from "./sticky-endpoint.ts"

const endpoint = (i: number): Endpoint => ({ address: `10.42.0.${i}`, port: 8080, key: `10.42.0.${i}:8080` })
const four = [1, 2, 3, 4].map(endpoint)
const clients = Array.from({ length: 400 }, (_, i) => `192.0.${i >> 8}.${i & 255}`)
const chosen = (endpoints: readonly Endpoint[], tried: readonly Endpoint[] = []) =>
  clients.map((client) => stickyEndpoint(client, endpoints, tried)?.key)

test("many clients are spread evenly over the endpoints", () => {
  const counts = four.map(({ key }) => chosen(four).filter((one) => one === key).length)
  for (const count of counts) expect(count).toBeWithin(70, 131)
})

test("a client keeps its endpoint when another is removed, and moves only to an endpoint that is added", () => {
  // given
  const before = chosen(four)

  // when one goes
  const three = four.slice(1)
  const fewer = chosen(three)
  const moved = clients.filter((_, i) => before[i] !== fewer[i] && before[i] !== four[0]!.key)
  expect(moved).toEqual([])

  // when one comes
  const fifth = endpoint(5)
  const more = chosen([...four, fifth])
  const movedElsewhere = clients.filter((_, i) => before[i] !== more[i] && more[i] !== fifth.key)
  expect(movedElsewhere).toEqual([])
  expect(more).toContain(fifth.key)
})

test("a client whose endpoint cannot be reached gets the endpoint that it would get if the first one were removed", () => {
  for (const client of clients.slice(0, 20)) {
    const first = stickyEndpoint(client, four, [])!
    const rest = four.filter((one) => one !== first)
    expect(stickyEndpoint(client, four, [first])).toBe(stickyEndpoint(client, rest, []))
  }
  expect(stickyEndpoint(clients[0]!, four, four)).toBeUndefined()
})
