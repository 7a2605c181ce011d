import { expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { StepLoop } from "./step-loop.ts"

/** A loop whose steps end when `end` is called, which may be with an error. */
function lab() {
  const clock = new VirtualClock(0)
  const steps: PromiseWithResolvers<void>[] = []
  const failures: unknown[] = []
  const works: Promise<void>[] = []
  const loop = new StepLoop({
    clock,
    spawn: (work) => works.push(work()),
    step(signal) {
      const step = Promise.withResolvers<void>()
      steps.push(step)
      signal.addEventListener("abort", () => step.reject(signal.reason))
      return step.promise
    },
    failed: (err) => failures.push(err),
  })
  const settled = () => Promise.resolve().then(() => Promise.resolve())
  const end = async (err?: Error) => {
    if (err === undefined) steps.at(-1)!.resolve()
    else steps.at(-1)!.reject(err)
    await settled()
    await settled()
  }
  return { clock, loop, steps, failures, works, end, settled }
}

test("a loop that is woken several times during a step runs one more after it", async () => {
  // given
  const { loop, steps, works, end } = lab()
  loop.wake()
  expect(steps).toHaveLength(1)
  // when
  loop.wake()
  loop.wake()
  expect(steps).toHaveLength(1)
  await end()
  // then
  expect(steps).toHaveLength(2)
  await end()
  await works[0]
  expect(steps).toHaveLength(2)
})

test("a step that is interrupted is followed by another one, and is no failure", async () => {
  // given
  const { loop, steps, failures, works, end, settled } = lab()
  loop.wake()
  // when
  loop.interrupt("the pod is being deleted")
  await settled()
  await settled()
  // then
  expect(steps).toHaveLength(2)
  await end(new Error("refused"))
  await works[0]
  expect(failures.map(String)).toEqual(["Error: refused"])
})

test("a loop that was stopped runs no further step, also not after its time", async () => {
  // given
  const { clock, loop, steps, works } = lab()
  loop.wakeIn(1000, () => loop.wake())
  loop.wake()
  loop.wakeIn(1000, () => loop.wake())
  // when
  loop.stop("the kubelet is being stopped")
  await works[0]
  await clock.advance(2000)
  loop.wake()
  // then
  expect(steps).toHaveLength(1)
})
