import { expect, test } from "bun:test"
import { PacedLog } from "./paced-log.ts"

function stage() {
  let now = 0
  const lines: string[] = []
  const log = new PacedLog(
    { monotonic: () => now },
    { warn: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`) },
  )
  return { log, lines, pass: (ms: number) => (now += ms) }
}

test("a subject that fails all the time gets one line a minute, with how often it failed since", () => {
  // given a webhook that fails every second for three minutes
  const { log, lines, pass } = stage()
  // when
  for (let second = 0; second < 180; second++) {
    log.warn("a", "It failed", { webhook: "a" })
    pass(1000)
  }
  // then
  expect(lines).toEqual([1, 60, 60].map((times) => `It failed {"webhook":"a","times":${times}}`))
})

test("each subject has lines of its own", () => {
  const { log, lines } = stage()
  for (const subject of ["a", "b", "a", "b"]) log.warn(subject, "It failed", { subject })
  expect(lines).toEqual(['It failed {"subject":"a","times":1}', 'It failed {"subject":"b","times":1}'])
})

test("of more subjects than are counted the oldest are forgotten", () => {
  const { log, lines } = stage()
  for (let i = 0; i <= 1000; i++) log.warn(String(i), "It failed", {})
  log.warn("1000", "It failed", {})
  log.warn("0", "It failed", {})
  expect(lines).toHaveLength(1002)
})

test("long subjects are told apart by their ends too", () => {
  const { log, lines } = stage()
  const long = "x".repeat(100_000)
  for (const end of ["a", "b", "a"]) log.warn(long + end, "It failed", { end })
  expect(lines).toEqual(['It failed {"end":"a","times":1}', 'It failed {"end":"b","times":1}'])
})
