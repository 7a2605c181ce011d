import { describe, expect, test } from "bun:test"
import { Cache } from "../../components/scheduler/cache.ts"
import { loaded } from "../../components/scheduler/plugin-host/plugin-host.fixtures.ts"
import {
  filterAnswer,
  nominateAnswer,
  refusalAnswer,
  scoreAnswer,
  sortKeyAnswer,
} from "../../components/scheduler/plugin-host/plugin-answers.ts"
import { nodeOf, podOf } from "../../components/scheduler/schedule-one.fixtures.ts"

const cache = new Cache()
for (const name of ["a", "b"]) cache.setNode(nodeOf(name))
const attempt = { key: "uid/1", pod: podOf("p"), args: { n: 1 } }
const FILTER = { call: "filter", attempt, nodes: ["a", "b"], points: ["filter"] } as const
const ALIVE = { call: "preEnqueue", pod: podOf("p") } as const

describe("a scheduler plugin", () => {
  test.each<[string, string, RegExp | "no failure"]>([
    ["loops", "for (;;) {}", /filter has not answered within 0\.5s/],
    ["loops in a promise", "return Promise.resolve().then(() => { for (;;) {} })", /has not answered within 0\.5s/],
    ["never settles its promise", "return new Promise(() => {})", /filter has not answered within 0\.5s/],
    [
      "allocates without end",
      "const all = []; for (;;) all.push(new Uint8Array(4e6).fill(1))",
      /of memory|not answered/,
    ],
    ["throws", 'throw new Error("out of luck")', /plugin Test: filter failed: out of luck/],
    ["throws what is no error", "throw null", /plugin Test: filter failed: null/],
    ["ends its process", "process.exit(0)", /has ended: its process ended with exit code 0/],
    ["kills its process", 'process.kill(process.pid, "SIGKILL")', /has ended: its process ended by SIGKILL/],
    ["aborts its process", "process.abort()", /has ended/],
    [
      "changes the node",
      'node.node.metadata.labels = { a: "b" }',
      /filter failed: .*(readonly|extensible|read.?only)/i,
    ],
    ["changes the pod", "_pod.spec.containers.push({})", /filter failed: /],
    ["changes its arguments", "cycle.args.n = 2", /filter failed: /],
    ["changes the list of nodes", "cycle.nodes.pop()", /filter failed: /],
    ["answers a number", "return 7", /expected nothing, a reason, or/],
    ["answers a promise of nonsense", "return Promise.resolve([])", /expected nothing, a reason, or/],
    ["answers a circle", "const x = { reason: 'x' }; x.self = x; return x", "no failure"],
    ["answers an object with a getter", "return { get reason() { throw new Error('gotcha') } }", /gotcha/],
    ["changes prototypes", "Object.prototype.reason = 'gotcha'; Array.prototype.map = () => []", "no failure"],
    ["leaves a rejection behind", "void Promise.reject(new Error('forgotten'))", "no failure"],
    ["leaves an exception behind", "setTimeout(() => { throw new Error('later') }, 1)", "no failure"],
    [
      "writes into the pipe of its answers",
      "require('node:fs').writeSync(3, 'nonsense\\n')",
      /has ended: it wrote something else/,
    ],
    ["answers for others", "require('node:fs').writeSync(3, '{\"id\":99,\"ok\":1}\\n')", "no failure"],
    ["closes the pipe of its answers", "require('node:fs').closeSync(3); return 'no'", /has ended|not answered/],
  ])("that %s is named and bounded, and answers the next question", async (_what, body, failure) => {
    // given
    const host = await loaded(`preEnqueue: () => "alive", filter(_pod, node, cycle) { ${body} }`, {
      mostBytes: 300 * 2 ** 20,
    })
    // when
    const asked = host.ask(FILTER, cache.list, 500).then(
      () => "no failure",
      (err: Error) => err.message,
    )
    // then
    if (failure === "no failure") expect(await asked).toBe(failure)
    else expect(await asked).toMatch(failure)
    expect(await host.ask(ALIVE, undefined, 5000)).toEqual({ reason: "alive" })
    await host.stop()
  })
})

describe("the process of a scheduler plugin", () => {
  test("is ended when it takes more than its memory, although it answers that it lives", async () => {
    const host = await loaded(
      `async filter() { const all = []; for (;;) { all.push(new Uint8Array(4e6).fill(1)); await new Promise((resolve) => setTimeout(resolve, 1)) } }`,
      { mostBytes: 200 * 2 ** 20 },
    )
    await expect(host.ask(FILTER, cache.list, 60_000)).rejects.toThrow("it took more than 200 MiB of memory")
    await host.stop()
  }, 70_000)

  test("is ended when its answer has no end, and answers the next question", async () => {
    const host = await loaded(
      `preEnqueue: () => "alive", filter() { const s = "x".repeat(1e6); for (;;) require("node:fs").writeSync(3, s) }`,
    )
    await expect(host.ask(FILTER, cache.list, 60_000)).rejects.toThrow("an answer has more than 8 MiB")
    expect(await host.ask(ALIVE, undefined, 5000)).toEqual({ reason: "alive" })
    await host.stop()
  }, 70_000)

  test("has no variables of the server's environment, and is the first to go where memory runs out", async () => {
    process.env["K3TS_TOKEN"] = "secret"
    try {
      const host = await loaded(
        `preEnqueue: () => [...Object.keys(process.env), require("node:fs").readFileSync("/proc/self/oom_score_adj", "utf8").trim()].join()`,
      )
      const { reason } = (await host.ask(ALIVE, undefined, 5000)) as { readonly reason: string }
      expect(reason).not.toContain("TOKEN")
      expect(reason.split(",")).toContain("PATH")
      expect(reason).toEndWith(",1000")
      await host.stop()
    } finally {
      delete process.env["K3TS_TOKEN"]
    }
  })
})

test.each<[string, unknown]>([
  ["a text", "yes"],
  ["a list", []],
  ["nothing about nodes", {}],
  ["other nodes", { refused: { c: { reason: "x" } } }],
  ["a refusal without a reason", { refused: { a: {} } }],
  ["a number as a refusal", { refused: { a: 1 } }],
  ["a prototype", JSON.parse('{"refused":{"__proto__":{"reason":"x"}}}')],
])("an answer to filter with %s is refused", (_what, answer) => {
  expect(() => filterAnswer(answer, new Set(["a"]))).toThrow(TypeError)
})

test.each<[string, unknown]>([
  ["no node", {}],
  ["a text", { a: "100" }],
  ["NaN, which JSON has as null", { a: null }],
  ["more than 100", { a: 101 }],
  ["less than 0", { a: -1 }],
  ["scores in its prototype", Object.create({ a: 1 })],
])("an answer to score with %s is refused", (_what, answer) => {
  expect(() => scoreAnswer(answer, ["a"], 1)).toThrow(TypeError)
})

test.each<[string, unknown]>([
  ["no list", 1],
  ["nine parts", Array.from({ length: 9 }, () => 1)],
  ["a long text", ["x".repeat(257)]],
  ["NaN, which JSON has as null", [null]],
  ["a list in it", [[1]]],
])("an answer to queueSort with %s is refused", (_what, answer) => {
  expect(() => sortKeyAnswer(answer)).toThrow(TypeError)
})

test.each<[string, unknown]>([
  ["a text", "node-1"],
  ["no node", {}],
  ["a number", { nominate: 1 }],
])("an answer to postFilter with %s is refused", (_what, answer) => {
  expect(() => nominateAnswer(answer)).toThrow(TypeError)
})

test("a reason of a megabyte is cut", () => {
  expect(refusalAnswer({ reason: "x".repeat(1e6) })?.reasons[0]).toHaveLength(256)
})
