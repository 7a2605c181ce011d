import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { OwnAddresses } from "./own-addresses.ts"

/** A machine with these addresses, of which the first one of each family is in use. */
function machine(...held: string[]) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  let changed = (): void => undefined
  const own = new OwnAddresses({
    read: () =>
      [held.find((one) => one.includes(".")), held.find((one) => one.includes(":"))].filter((one) => one !== undefined),
    isHeld: (address) => held.includes(address),
    watch: (listener) => {
      changed = listener
      return () => (changed = () => undefined)
    },
    clock,
    log: silent,
  })
  const seen: unknown[] = []
  own.onChange(() => seen.push(own.current))
  own.start()
  return {
    own,
    seen,
    async becomes(...next: string[]) {
      held.splice(0, Infinity, ...next)
      changed()
      await clock.advance(500)
    },
    /** The machine changes again before it has settled. */
    flickers(...next: string[]) {
      held.splice(0, Infinity, ...next)
      changed()
    },
  }
}

describe("the addresses of a machine", () => {
  test.each([
    {
      title: "change when the machine loses the one in use and has another",
      to: ["192.0.2.9"],
      wants: [["192.0.2.9"]],
    },
    { title: "stay when the machine gets another of the same family", to: ["192.0.2.8", "192.0.2.7"], wants: [] },
    { title: "stay when the machine has none for the moment", to: [], wants: [] },
    {
      title: "get one of a second family when the machine does",
      to: ["192.0.2.7", "2001:db8::7"],
      wants: [["192.0.2.7", "2001:db8::7"]],
    },
  ])("$title", async ({ to, wants }) => {
    const { becomes, seen, own } = machine("192.0.2.7")
    await becomes(...to)
    expect(seen).toEqual([...wants])
    expect(own.current).toEqual(wants[0] ?? ["192.0.2.7"])
  })

  test("are read once they have stopped changing", async () => {
    const { becomes, flickers, seen } = machine("192.0.2.7")
    flickers()
    flickers("198.51.100.1")
    await becomes("192.0.2.7")
    expect(seen).toEqual([])
  })

  test("are not watched any more after stop", async () => {
    const { becomes, own, seen } = machine("192.0.2.7")
    own.stop()
    await becomes("192.0.2.9")
    expect(seen).toEqual([])
  })
})
