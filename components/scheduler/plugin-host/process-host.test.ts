import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { Cache } from "../cache.ts"
import { Breaker } from "./breaker.ts"
import { nodeOf, podOf } from "../schedule-one.fixtures.ts"
import { COMMAND, fileOf, loaded, noting } from "./plugin-host.fixtures.ts"
import { ProcessHost } from "./process-host.ts"
import { ReloadingHost } from "./reloading-host.ts"

const attempt = { key: "uid/1", pod: podOf("p"), args: undefined }
const filter = (nodes: readonly string[] = []) => ({ call: "filter", attempt, nodes, points: ["filter"] }) as const

describe("a plugin in a process of its own", () => {
  test("is loaded from TypeScript, with what it imports, and sees the nodes as they are", async () => {
    // given
    const file = fileOf(
      `import { definePlugin, scaleDown, type NodeView } from "k3ts/scheduler"
       import { limit } from "./limit.ts"
       export default definePlugin({
         name: "Slots", pods: { namespaces: ["default"] }, deadlines: { filter: "2s" }, events: ["AssignedPod/Delete"],
         filter: (_pod, node: NodeView) => node.pods.length >= limit ? \`node(s) had \${node.pods.length} pods\` : undefined,
         score: (_pod, node) => node.pods.length,
         normalize: scaleDown,
       })`,
    )
    writeFileSync(file.replace("plugin.ts", "limit.ts"), "export const limit: number = 1\n")
    const host = await ProcessHost.load({ file, command: COMMAND, clock: realClock, log: silent })
    expect(host.description).toMatchObject({
      name: "Slots",
      points: ["filter", "score"],
      pods: { namespaces: ["default"] },
      deadlines: { filter: 2000 },
      events: ["AssignedPod/Delete"],
    })
    // when nodes get pods, and lose them
    const cache = new Cache()
    for (const name of ["a", "b", "c"]) cache.setNode(nodeOf(name))
    const names = () => cache.list.map(({ name }) => name)
    const ask = () => host.ask(filter(names()), cache.list, 2000)
    const refused = { reason: "node(s) had 1 pods" }
    const pod = podOf("x", {}, { node: "b" })
    cache.setPod(pod)
    expect(await ask()).toEqual({ refused: { b: refused } })
    cache.forget(pod)
    cache.setPod(podOf("y", {}, { node: "c" }))
    cache.removeNode("a")
    // then it answers by the present ones
    expect(await ask()).toEqual({ refused: { c: refused } })
    expect(await host.ask({ call: "score", attempt, nodes: names(), points: ["score"] }, cache.list, 2000)).toEqual({
      b: 100,
      c: 0,
    })
    await host.stop()
  })

  test.each([
    ["a syntax error", "export default {\n  name: 1 +\n}", "Unexpected }"],
    ["an error at its top", 'throw new Error("no licence")', "no licence"],
    ["no default export", "export const x = 1", "the file must have a plugin as its default export"],
    ["no such import", 'import "./nowhere.ts"', "nowhere.ts"],
    ["an end of its process", "process.exit(3)", "its process ended with exit code 3"],
  ])("with %s is refused, and the error says so", async (_what, text, message) => {
    const loading = ProcessHost.load({ file: fileOf(text), command: COMMAND, clock: realClock, log: silent })
    await expect(loading).rejects.toThrow(message)
  })

  test("that never returns is ended, and started again for the next question", async () => {
    const host = await loaded('filter() { for (;;) {} }, preEnqueue: () => "no"')
    const cache = new Cache()
    cache.setNode(nodeOf("a"))
    await expect(host.ask(filter(["a"]), cache.list, 300)).rejects.toThrow(
      "plugin Test: filter has not answered within 0.3s",
    )
    expect(await host.ask({ call: "preEnqueue", pod: podOf("p") }, undefined, 5000)).toEqual({ reason: "no" })
    await host.stop()
  })

  test("that is only slow keeps its process, and hears that nobody waits any more", async () => {
    const host = await loaded(
      `preBind: (_pod, _node, { signal, state }) => new Promise((_resolve, reject) => {
         signal.addEventListener("abort", () => { turn++; reject(new Error("aborted")) })
       }),
       preEnqueue: () => String(turn)`,
    )
    const cache = new Cache()
    cache.setNode(nodeOf("a"))
    const asked = host.ask({ call: "preBind", attempt, node: "a" }, cache.list, 200)
    await expect(asked).rejects.toThrow("plugin Test: preBind has not answered within 0.2s")
    expect(await host.ask({ call: "preEnqueue", pod: podOf("p") }, undefined, 5000)).toEqual({ reason: "1" })
    await host.stop()
  })

  test("whose end fails many questions has failed once, and is asked again at once", async () => {
    // given a plugin that holds a group of pods back
    const host = await loaded("permit: () => new Promise(() => {}), preEnqueue() { if (turn++ === 0) process.exit(1) }")
    const breaker = new Breaker("plugin Test", realClock, silent)
    const cache = new Cache()
    cache.setNode(nodeOf("a"))
    const permits = ["1", "2", "3", "4"].map((key) => {
      const request = { call: "permit", attempt: { ...attempt, key }, node: "a" } as const
      return breaker.through("permit", () => host.ask(request, cache.list, 5000))
    })
    const settled = Promise.allSettled(permits)
    const ask = () =>
      breaker.through("preEnqueue", () => host.ask({ call: "preEnqueue", pod: podOf("p") }, undefined, 5000))
    // when its process ends
    await expect(ask()).rejects.toThrow("has ended")
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected", "rejected"])
    // then
    await expect(ask()).rejects.toThrow("has ended")
    await expect(ask()).rejects.toThrow("has ended")
    await expect(ask()).rejects.toThrow("is not asked for 5s, because it failed 3 times")
    await host.stop()
  })

  test("is not started again after its scheduler has stopped, until another one begins", async () => {
    const host = await loaded('preEnqueue: () => "no"')
    const ask = () => host.ask({ call: "preEnqueue", pod: podOf("p") }, undefined, 5000)
    await host.stop()
    await expect(ask()).rejects.toThrow("plugin Test: the scheduler stops")
    host.begin()
    expect(await ask()).toEqual({ reason: "no" })
    await host.stop()
  })

  test("is loaded again when its file changes, and stays as it was when the new one is faulty", async () => {
    const { log, lines } = noting()
    const text = (what: string) => `export default { name: "Test", preEnqueue: () => ${what} }`
    const file = fileOf(text('"one"'))
    const host = await ReloadingHost.load({ file, command: COMMAND, clock: realClock, log })
    const ask = () => host.ask({ call: "preEnqueue", pod: podOf("p") }, undefined, 5000)
    const until = async (word: string) => {
      while (!lines.some((line) => line.includes(word))) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await ask()).toEqual({ reason: "one" })
    writeFileSync(file, text('"two"'))
    await until("Loaded a scheduler plugin again")
    expect(await ask()).toEqual({ reason: "two" })
    const refused = async (word: string, next: string) => {
      writeFileSync(file, next)
      await until(word)
      expect(await ask()).toEqual({ reason: "two" })
    }
    await refused("Unexpected", text('"three" +'))
    await refused("its name must stay Test, and is Other", text('"four"').replace("Test", "Other"))
    await refused("it did not sort the queue before", text('"five", queueSort: () => 1'))
    await host.stop()
  })

  test("prints into the server's log, and no more than its share", async () => {
    const { log, lines } = noting()
    const host = await loaded('preEnqueue() { for (let i = 0; i < 1000; i++) console.log("line", i); return "no" }', {
      log,
    })
    await host.ask({ call: "preEnqueue", pod: podOf("p") }, undefined, 5000)
    await host.stop()
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThan(60)
    expect(lines[0]).toContain('"plugin":"Test"')
  })
})
