import { describe, expect, test } from "bun:test"
import { Desired } from "./desired.ts"
import type { Parts } from "./parts.ts"

const NOTHING: Parts = { elements: [], chains: new Map(), affinities: new Map() }
const claiming = (value: string, yields?: true): Parts => ({
  ...NOTHING,
  elements: [{ container: "ips", key: "10.0.0.1", value, ...(yields === undefined ? {} : { yields }) }],
})
const valueIn = (desired: Desired) => desired.value("ips", "10.0.0.1")

describe("an address that several Services claim", () => {
  test("goes to the first by namespace and name, in whatever order they come and go", () => {
    // given
    const desired = new Desired()
    for (const owner of ["c/web", "a/web", "d/web", "b/web"]) desired.change(owner, NOTHING, claiming(owner))
    expect(valueIn(desired)).toBe("a/web")
    // when one goes that does not have it, and then those that have it
    desired.change("c/web", claiming("c/web"), NOTHING)
    expect(valueIn(desired)).toBe("a/web")
    desired.change("a/web", claiming("a/web"), NOTHING)
    expect(valueIn(desired)).toBe("b/web")
    desired.change("b/web", claiming("b/web"), NOTHING)
    // then
    expect(valueIn(desired)).toBe("d/web")
    desired.change("d/web", claiming("d/web"), NOTHING)
    expect(valueIn(desired)).toBeUndefined()
  })

  test("goes to a claim that yields only where no other is left", () => {
    const desired = new Desired()
    desired.change("a/web", NOTHING, claiming("external", true))
    desired.change("b/web", NOTHING, claiming("cluster IP"))
    expect(valueIn(desired)).toBe("cluster IP")
    desired.change("b/web", claiming("cluster IP"), NOTHING)
    expect(valueIn(desired)).toBe("external")
  })

  test("may be claimed by 20,000 of them", () => {
    // given
    const desired = new Desired()
    const owners = Array.from({ length: 20_000 }, (_, i) => `n/${String(i).padStart(5, "0")}`)
    for (const owner of owners) desired.change(owner, NOTHING, claiming(owner))
    // when the last one goes, and then the first
    desired.change(owners.at(-1)!, claiming(owners.at(-1)!), NOTHING)
    desired.change(owners[0]!, claiming(owners[0]!), NOTHING)
    // then
    expect(valueIn(desired)).toBe(owners[1])
    expect(desired.takeDelta().elements).toHaveLength(1)
  })
})
