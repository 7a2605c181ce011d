import { expect, test } from "bun:test"
import { silent } from "../../../../pkg/log/log.ts"
import type { Host } from "../../../../pkg/netfilter/host.ts"
import { PortGuard } from "./port-guard.ts"

/** A machine with this `nft`, which takes a transaction or fails. */
function host(version: string | undefined, take: () => void = () => undefined) {
  const taken: string[] = []
  const made: Host = {
    async run(_command, [what]) {
      if (what !== "--version") return "table inet k3ts-between-nodes\n"
      if (version === undefined) throw new Error("ENOENT")
      return version
    },
    async feed(_command, args, input) {
      if (args.includes("--check")) return
      take()
      taken.push(input)
    },
  }
  return { made, taken }
}

test("packets from other nodes are refused while nftables refuses the rules about their senders", async () => {
  // given
  let isBroken = true
  const { made, taken } = host("nftables v1.0.6 (Lester Gooch #5)", () => {
    if (isBroken) throw new Error("Could not process rule: Cannot allocate memory")
  })
  const guard = new PortGuard(made, silent)
  // then
  await expect(guard.keep(8472, ["192.0.2.1"])).rejects.toThrow("Cannot allocate memory")
  // and when it takes them again, they are written once
  isBroken = false
  await guard.keep(8472, ["192.0.2.1"])
  await guard.keep(8472, ["192.0.2.1"])
  expect(taken).toHaveLength(1)
  expect(taken[0]).toContain("add element inet k3ts-between-nodes ip-nodes { 192.0.2.1 }")
})

test("a node without nftables logs one warning, and still reaches the other nodes", async () => {
  const { made, taken } = host(undefined)
  const warnings: string[] = []
  const guard = new PortGuard(made, { ...silent, warn: (message) => void warnings.push(message) })
  await guard.keep(8472, ["192.0.2.1"])
  await guard.keep(8472, ["192.0.2.2"])
  expect(taken).toEqual([])
  expect(warnings).toEqual(["Packets between nodes are accepted from any sender: there is no nftables to refuse them"])
})
