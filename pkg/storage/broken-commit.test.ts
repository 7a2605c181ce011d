import { expect, test } from "bun:test"
import { containingClock } from "../clock/containing.ts"
import { VirtualClock } from "../clock/virtual.ts"
import { FatalError } from "../failure/fatal-error.ts"
import { MemoryStorage } from "./memory.ts"
import type { StorageEvent } from "./storage.ts"

/** A store that fails once a commit is on the medium: in its memory, or when the medium notes the commit itself. */
class FailingStorage extends MemoryStorage {
  fails: "memory" | "medium" | undefined
  protected override persist(): void {
    if (this.fails === "medium") throw new FatalError("undefined is not an object")
  }
  protected override afterCommit(): void {
    if (this.fails === "memory") throw new TypeError("undefined is not an object")
  }
}

function stage() {
  const errors: unknown[] = []
  const virtual = new VirtualClock(0)
  const clock = containingClock(virtual, (err) => errors.push(err))
  const heard: string[] = []
  const storage = new FailingStorage({
    clock,
    onListenerError: (err) => heard.push(`error: ${(err as Error).message}`),
  })
  const write = (name: string) =>
    storage.write({
      key: `/registry/core/configmaps/default/${name}`,
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } },
      expected: undefined,
      time: 0,
      author: "test",
    })
  return { storage, write, errors, heard, virtual }
}

test.each(["memory", "medium"] as const)(
  "an error of the %s after a commit ends the process, and nothing is written before that",
  async (part) => {
    // given a store with an object
    const { storage, write, errors, virtual } = stage()
    await write("before")
    storage.fails = part
    // when a write is committed, and the memory cannot follow
    const unanswered = write("during").then(
      () => "acknowledged",
      () => "refused",
    )
    await virtual.advance(1)
    // then the error is one that nothing contains
    expect(errors).toEqual([expect.any(FatalError)])
    expect((errors[0] as Error).message).toContain("undefined is not an object")
    // and the write is neither acknowledged nor refused: it happened, and the next start reads it
    expect(await Promise.race([unanswered, Promise.resolve("unanswered")])).toBe("unanswered")
    // and no other write is taken
    storage.fails = undefined
    await expect(write("after")).rejects.toThrow("the store failed in the middle of a commit")
    storage.close()
  },
)

test("a listener that throws keeps neither the write nor its events from others", async () => {
  // given
  const { storage, write, errors, heard } = stage()
  storage.subscribe(() => {
    throw new Error("a mistake")
  })
  storage.subscribe((events: readonly StorageEvent[]) => heard.push(...events.map(({ key }) => key)))
  // when
  await write("a")
  await write("b")
  // then
  expect(heard).toEqual([
    "/registry/core/configmaps/default/a",
    "error: a mistake",
    "/registry/core/configmaps/default/b",
    "error: a mistake",
  ])
  expect(errors).toEqual([])
})
