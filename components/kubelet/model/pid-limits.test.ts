import { describe, expect, test } from "bun:test"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"
import { pidLimits } from "./pid-limits.ts"

describe("the process ids of a node", () => {
  test.each([
    { max: 4_194_304, given: undefined, pod: 16_384, node: 3_774_873 },
    { max: 32_768, given: undefined, pod: 3686, node: 29_491 },
    { max: 4096, given: undefined, pod: 1024, node: 3096 },
    { max: 1000, given: undefined, pod: 1024, node: 500 },
    { max: 32_768, given: 100, pod: 100, node: 29_491 },
    { max: 32_768, given: -1, pod: undefined, node: 29_491 },
  ])("of which there are $max, with pod-max-pids=$given", ({ max, given, pod, node }) => {
    expect(pidLimits(max, given)).toEqual({ pod, node })
  })

  test("are limited for all pods together, and for each", async () => {
    // given
    await using node = await simulatedKubelet({ web: {} })
    const limits: unknown[] = []
    const { cgroups } = node.runtime
    const ensure = cgroups.ensure.bind(cgroups)
    Object.assign(cgroups, {
      ensure: (path: readonly string[], given: { readonly mostPids?: number }) => {
        limits.push([path.at(-1)!.replace(/^pod.*/, "pod"), given.mostPids])
        return ensure(path, given)
      },
    })
    // when
    await node.restart()
    await node.create("web", { containers: [{ name: "c", image: "web" }] })
    // then
    expect(limits).toEqual([
      ["kubepods", 3_774_873],
      ["pod", 16_384],
    ])
  })

  test("are read again for the next pod where they could not be read", async () => {
    // given
    await using node = await simulatedKubelet({ web: {} })
    const { machine } = node.runtime
    const processes = machine.processes.bind(machine)
    let isBroken = true
    Object.assign(machine, {
      processes: () => (isBroken ? Promise.reject(new Error("EMFILE: too many open files")) : processes()),
    })
    await node.create("web", { containers: [{ name: "c", image: "web" }] })
    expect(node.status("web").phase).toBe("Pending")
    // when
    isBroken = false
    await node.cluster.advance(20_000)
    // then
    expect(node.status("web").phase).toBe("Running")
  })
})
