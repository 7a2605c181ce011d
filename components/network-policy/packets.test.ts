import { describe, expect, test } from "bun:test"
import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { inFamily } from "./testing/families.fixtures.ts"
import { isAllowed } from "./testing/is-allowed.fixtures.ts"
import { enforcing, misled } from "./testing/packets.fixtures.ts"
import { ableToMakePods, PodNetwork } from "./testing/pod-network.fixtures.ts"
import { CASES, PORTS } from "./testing/truth-tables.fixtures.ts"
import { changed, keyOf, ninePods } from "./testing/world.fixtures.ts"

/** A selection, since every case takes half a second: `K3TS_PACKETS=all` runs all cases. */
const SOME = [
  "default-deny-all",
  "stacked policies",
  "egress access on one named port",
  "except clause",
  "specified together",
  "updated namespace",
  "specific protocol",
]
const isChosen = (title: string) => process.env["K3TS_PACKETS"] === "all" || SOME.some((part) => title.includes(part))

/** Pods with addresses of both families have all that those of one have. */
const PODS_OF: readonly (readonly Family[])[] =
  process.env["K3TS_PACKETS"] === "all" ? [["IPv4"], ["IPv6"], ["IPv6", "IPv4"]] : [["IPv4", "IPv6"]]

describe.skipIf(!ableToMakePods)("real packets", () => {
  test.each(PODS_OF.map((families) => ({ families, of: families.join(" and ") })))(
    "of $of go as upstream's truth tables say, from each of nine pods to each, over TCP and UDP",
    async ({ families }) => {
      // given nine pods on one bridge
      const plain = ninePods()
      const addresses = Object.fromEntries(plain.pods.map((pod) => [keyOf(pod), pod.address]))
      using network = await PodNetwork.make(addresses, PORTS)
      await using cluster = await enforcing(network, families)
      await cluster.write(plain)
      for (const { title, steps } of CASES.filter((one) => isChosen(one.title))) {
        let world = plain
        for (const { changes } of steps) {
          // when
          for (const change of changes) {
            await cluster.change(change, world)
            world = changed(world, change)
          }
          await cluster.settled()
          // then
          const wrong = await Promise.all(
            families.map((family) => {
              const of = inFamily(family, world)
              return misled(network, of, (...connection) => isAllowed(of, ...connection))
            }),
          )
          expect([title, wrong.flat()]).toEqual([title, []])
        }
        await cluster.reset(plain)
        await cluster.settled()
      }
    },
    process.env["K3TS_PACKETS"] === "all" ? 240_000 : 60_000,
  )
})
