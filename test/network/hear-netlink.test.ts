import { spawnSync } from "node:child_process"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ADDRESS_GROUPS } from "../../pkg/netlink/links.ts"
import { hearNetlink } from "../../pkg/runtime/netlink.ts"

const NETNS = `k3ts-hear-${process.pid}`
const ip = (...args: readonly string[]) => spawnSync("ip", args)
const lacks = process.getuid?.() !== 0 ? "root" : ip("netns", "add", NETNS).status === 0 ? undefined : "ip netns"
if (lacks !== undefined) console.warn(`SKIPPED: what the kernel tells of addresses needs ${lacks}`)

describe.skipIf(lacks !== undefined)("the kernel", () => {
  let calls = 0
  let called = (): void => undefined
  const next = () => new Promise<void>((resolve) => (called = resolve))
  let end: () => void
  beforeAll(() => {
    end = hearNetlink(
      ADDRESS_GROUPS,
      () => {
        calls++
        called()
      },
      NETNS,
    )
  })
  afterAll(() => {
    end()
    ip("netns", "delete", NETNS)
  })
  const address = (what: "add" | "del", text: string) => ip("-n", NETNS, "addr", what, text, "dev", "lo")

  test("reports added and removed addresses of both families, until the watch ends", async () => {
    for (const change of ["add", "del"] as const)
      for (const text of ["192.0.2.9/32", "2001:db8::9/128"]) {
        const told = next()
        address(change, text)
        await told
      }
    // when
    end()
    const before = calls
    address("add", "192.0.2.10/32")
    // then
    await new Promise((resolve) => setImmediate(resolve))
    expect(calls).toBe(before)
  })
})
