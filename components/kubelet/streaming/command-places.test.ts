import { describe, expect, test } from "bun:test"
import type { RuntimePod } from "../model/runtime-pod.ts"
import { CommandPlaces } from "./command-places.ts"

/** Pods of which each has one container, by the namespace and the number of commands that run in it. */
function onNode(pods: Readonly<Record<string, readonly [namespace: string, commands: number]>>) {
  const running = new Map(Object.entries(pods).map(([uid, [, commands]]) => [uid, commands]))
  const all = Object.entries(pods).map(
    ([uid, [namespace]]) =>
      ({
        identity: { uid, namespace, name: uid },
        sandboxes: [],
        containers: [{ id: uid, state: "running" }],
      }) as never,
  ) as readonly RuntimePod[]
  const places = new CommandPlaces({ cache: { all: () => all }, processes: async (id) => running.get(id) ?? 0 })
  return {
    running,
    /** Starts a command that stays. */
    start: (pod: string) =>
      places
        .starting(pod, async () => void running.set(pod, (running.get(pod) ?? 0) + 1))
        .then(
          () => "started",
          (err: { code: number }) => err.code,
        ),
  }
}

describe("a command", () => {
  test("starts in a pod with fewer than 256, those of clients that have left included", async () => {
    const { start, running } = onNode({ a: ["one", 255], b: ["one", 0] })
    expect([await start("a"), await start("a"), await start("b")]).toEqual(["started", 429, "started"])
    // and when one has ended
    running.set("a", 255)
    expect(await start("a")).toBe("started")
  })

  test("is refused where many that start at once would be more", async () => {
    const { start } = onNode({ a: ["one", 200] })
    const answers = await Promise.all(Array.from({ length: 100 }, () => start("a")))
    expect(answers.filter((answer) => answer === 429).length).toBeGreaterThanOrEqual(44)
  })

  test("of a namespace whose pods have three quarters of the node's is refused, and one of another starts", async () => {
    const { start } = onNode({
      ...Object.fromEntries([1, 2, 3, 4].map((i) => [`g${i}`, ["greedy", 192]])),
      o: ["other", 0],
    })
    expect([await start("g1"), await start("o"), await start("g2")]).toEqual([429, "started", 429])
  })
})
