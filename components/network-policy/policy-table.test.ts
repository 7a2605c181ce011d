import { describe, expect, test } from "bun:test"
import { PolicyTable } from "./policy-table.ts"
import { isAllowed, type World } from "./is-allowed.fixtures.ts"
import { CASES, expects, PORTS, PROTOCOLS } from "./truth-tables.fixtures.ts"
import { isForwarded } from "./verdict.fixtures.ts"
import { applyTo, changed, keyOf, ninePods, NO_WORLD, podOf } from "./world.fixtures.ts"

const OPTIONS = { families: ["IPv4"], bridge: "cni0" } as const

/** Connections of which the table says otherwise than the policies: all pods, ports and protocols. */
function differences(table: PolicyTable, world: World): readonly string[] {
  return world.pods.flatMap((from) =>
    world.pods.flatMap((to) =>
      PORTS.flatMap((port) =>
        PROTOCOLS.flatMap((protocol) => {
          const allowed = isAllowed(world, from, to, port, protocol)
          const forwarded = isForwarded(table.table, { client: from.address, server: to.address, port, protocol })
          return allowed === forwarded ? [] : [`${keyOf(from)} → ${keyOf(to)} ${port}/${protocol}: ${forwarded}`]
        }),
      ),
    ),
  )
}

describe("upstream's truth tables", () => {
  test.each(CASES)("$title", ({ pods, steps }) => {
    // given nine pods and no policies
    let world = ninePods()
    const table = new PolicyTable(OPTIONS)
    applyTo(table, NO_WORLD, world)
    for (const { changes, checks } of steps) {
      // when policies and labels change
      const before = world
      for (const change of changes) world = changed(world, change)
      applyTo(table, before, world)
      // then the pods that upstream has connect as it says
      for (const check of checks)
        for (const from of pods)
          for (const to of pods) {
            if (from === to) continue // undefined, as upstream has it
            const allowed = isAllowed(world, podOf(world, from), podOf(world, to), check.port, check.protocol)
            expect([from, to, check.port, allowed]).toEqual([from, to, check.port, expects(check, from, to)])
          }
      // and the table says of all pods, ports and protocols what the policies say
      expect(differences(table, world)).toEqual([])
    }
  })
})
