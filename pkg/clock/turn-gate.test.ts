import { expect, test } from "bun:test"
import { TurnGate } from "./turn-gate.ts"

test("a gate lets some callers pass at once, and the others in later turns, in order", async () => {
  // given a gate for two in a turn
  const turns: (() => void)[] = []
  const gate = new TurnGate({ afterTurn: (run) => void turns.push(run) }, 2)
  const passed: number[] = []
  // when five come in one turn
  const all = [0, 1, 2, 3, 4].map(async (i) => {
    await gate.pass()
    passed.push(i)
  })
  const seen: number[][] = []
  for (let turn = 0; turn < 4; turn++) {
    await Promise.resolve()
    await Promise.resolve()
    seen.push([...passed])
    turns.shift()?.()
  }
  await Promise.all(all)
  // then two pass in each turn
  expect(seen).toEqual([
    [0, 1],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 4],
    [0, 1, 2, 3, 4],
  ])
  // and in a turn of its own the next caller passes at once
  expect(gate.pass()).toBeUndefined()
})

test("those who come in the turn of others that waited count with them, and wait behind those who still wait", async () => {
  // given a gate for two in a turn, at which one waits
  const turns: (() => void)[] = []
  const gate = new TurnGate({ afterTurn: (run) => void turns.push(run) }, 2)
  const comes = () => gate.pass() !== undefined
  expect([comes(), comes(), comes()]).toEqual([false, false, true])
  // when three come after it in its turn
  turns.shift()!()
  expect([comes(), comes(), comes()]).toEqual([false, true, true])
  // and one after those two in theirs
  turns.shift()!()
  expect(comes()).toBe(true)
})
