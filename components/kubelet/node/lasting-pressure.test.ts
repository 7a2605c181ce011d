import { expect, test } from "bun:test"
import { LastingPressure } from "./lasting-pressure.ts"
import { NO_PRESSURE, type Pressure } from "../model/pressure.ts"

const of = (some: Partial<Pressure>): Pressure => ({ ...NO_PRESSURE, ...some })

const CASES = [
  {
    title: "is reported while it lasts, and not afterwards without a transition period",
    transitionMs: 0,
    observed: [
      { at: 0, is: { memory: true }, wants: { memory: true } },
      { at: 10, is: {}, wants: {} },
    ],
  },
  {
    title: "is reported until the transition period has passed",
    transitionMs: 300,
    observed: [
      { at: 0, is: {}, wants: {} },
      { at: 10, is: { disk: true }, wants: { disk: true } },
      { at: 309, is: {}, wants: { disk: true } },
      { at: 310, is: {}, wants: {} },
    ],
  },
  {
    title: "that comes back starts its transition period again, and no other",
    transitionMs: 300,
    observed: [
      { at: 0, is: { memory: true, pid: true }, wants: { memory: true, pid: true } },
      { at: 200, is: { memory: true }, wants: { memory: true, pid: true } },
      { at: 400, is: {}, wants: { memory: true } },
      { at: 500, is: {}, wants: {} },
    ],
  },
]

test.each(CASES)("a pressure condition $title", ({ transitionMs, observed }) => {
  const pressure = new LastingPressure()
  expect(observed.map(({ at, is }) => pressure.after(of(is), at, transitionMs))).toEqual(
    observed.map(({ wants }) => of(wants)),
  )
})
