import { expect, test } from "bun:test"
import { seedOf, summaryOf } from "./summary.ts"

test("names each test that failed once, though bun test tells it twice", () => {
  // given
  const output = [
    "a.test.ts:",
    "(fail) pods > are deleted [12.00ms]",
    "(pass) pods > are created [1.00ms]",
    "",
    "1 tests failed:",
    "(fail) pods > are deleted [12.00ms]",
    "",
    " 1 pass",
    " 2 skip",
    " 1 fail",
    " 1 error",
  ].join("\n")

  // when
  const summary = summaryOf(output)

  // then
  expect(summary).toEqual({
    passed: 1,
    failed: 2,
    skipped: 2,
    failures: [{ file: "a.test.ts", title: "pods > are deleted [12.00ms]" }, { title: "1 error outside of a test" }],
  })
})

test("counts nothing in the output of a run that has written no summary", () => {
  expect(summaryOf("bun test\nKilled")).toEqual({ passed: 0, failed: 0, skipped: 0, failures: [] })
})

test("a summary counts errors as failures, and what is to do as skipped", () => {
  // given what a test itself wrote, and the end of bun's output
  const output = "7 pass\nsomething\n\n 58 pass\n 3 skip\n 1 todo\n 2 fail\n 1 error\n 120 expect() calls\n"
  expect(summaryOf(output)).toMatchObject({ passed: 58, failed: 3, skipped: 4 })
})

test("finds the seed with which a run is repeated", () => {
  expect(seedOf("Test clusters of this run: seed 12 (K3TS_SEED=12 replays it)\n")).toBe("12")
  expect(seedOf("bun test v1")).toBeUndefined()
})
