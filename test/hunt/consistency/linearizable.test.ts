import { expect, test } from "bun:test"
import { isLinearizable, type Operation, type Value } from "./linearizable.ts"

const read = (called: number, returned: number, value: Value): Operation => ({
  is: "read",
  by: "reader",
  called,
  returned,
  value,
})
const write = (
  called: number,
  returned: number,
  expected: Value | undefined,
  value: Value,
  outcome: "done" | "refused" | "unknown" = "done",
): Operation => ({ is: "write", by: "writer", called, returned, expected, value, outcome })

const TABLE: readonly { readonly title: string; readonly given: readonly Operation[]; readonly wants: boolean }[] = [
  { title: "a read after a create finds the object", given: [write(1, 2, null, "a"), read(3, 4, "a")], wants: true },
  { title: "a read after a create finds nothing", given: [write(1, 2, null, "a"), read(3, 4, null)], wants: false },
  { title: "a read during a create finds nothing", given: [write(1, 4, null, "a"), read(2, 3, null)], wants: true },
  {
    title: "two readers see a change in different orders",
    given: [write(1, 2, null, "a"), write(3, 10, "a", "b"), read(4, 5, "b"), read(6, 7, "a")],
    wants: false,
  },
  {
    title: "two updates of the same state both succeed",
    given: [write(1, 2, null, "a"), write(3, 6, "a", "b"), write(4, 5, "a", "c")],
    wants: false,
  },
  {
    title: "of two updates of the same state one is refused",
    given: [write(1, 2, null, "a"), write(3, 6, "a", "b"), write(4, 5, "a", "c", "refused")],
    wants: true,
  },
  {
    title: "an update is refused although nobody has changed the object",
    given: [write(1, 2, null, "a"), write(3, 4, "a", "b", "refused")],
    wants: false,
  },
  {
    title: "a write without a response is applied after a later read",
    given: [write(1, Infinity, null, "a", "unknown"), read(2, 3, null), read(4, 5, "a")],
    wants: true,
  },
  {
    title: "a write without a response is applied and undone by no other write",
    given: [write(1, Infinity, null, "a", "unknown"), read(2, 3, "a"), read(4, 5, null)],
    wants: false,
  },
  {
    title: "a refused write was applied",
    given: [write(1, 2, null, "a"), write(3, 4, null, "b", "refused"), read(5, 6, "b")],
    wants: false,
  },
  {
    title: "an unconditional change finds an object that was deleted",
    given: [write(1, 2, null, "a"), write(3, 4, "a", null), write(5, 6, undefined, "c")],
    wants: false,
  },
]

test.each(TABLE)("the checker accepts or rejects a history in which $title", ({ given, wants }) => {
  expect(isLinearizable(given)).toBe(wants)
})
