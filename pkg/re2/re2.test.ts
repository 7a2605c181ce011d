import { expect, test } from "bun:test"
import { patternOf } from "../apimachinery/structural/pattern.ts"
import { compilePattern } from "../cel/regex.ts"
import { seededRandom } from "../clock/random.ts"
import { countPattern, MOST_INSTRUCTIONS, sizeFault, withPatternsOfObject } from "./limits.ts"
import { programSize } from "./program-size.ts"
import { compileRe2 } from "./re2.ts"

test.each([
  { given: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" },
  { given: "^.{0,1000}$" },
  { given: "^(([a-z0-9]{1,63})\\.){1,10}$" },
  { given: "[\\pL\\pN]{1,1000}" },
  { given: "(?i)[\\x{100}-\\x{500}]{10}" },
  { given: "\\Q(a{1000}){1000}\\E" },
  { given: "[a{1000}(]{3}" },
  { given: "x".repeat(15_000) },
])("the pattern $given is compiled", ({ given }) => {
  expect(compileRe2(given).programSize()).toBeLessThan(MOST_INSTRUCTIONS)
})

const TOO_LARGE = /^error parsing regexp: expression too large: `/
test.each([
  { title: "many counted repetitions", given: "a{1000}".repeat(100), wants: TOO_LARGE },
  { title: "optional repetitions", given: "(a{0,30}){0,33}".repeat(30), wants: TOO_LARGE },
  { title: "many classes of Unicode", given: "\\pL".repeat(1000), wants: TOO_LARGE },
  { title: "many classes of Unicode in one", given: `[${"\\p{Greek}".repeat(1000)}]`, wants: TOO_LARGE },
  { title: "large ranges in every case", given: `(?i)${"[\\x{42}-\\x{1e942}]".repeat(100)}`, wants: TOO_LARGE },
  { title: "a long text", given: "ab".repeat(1_000_000), wants: TOO_LARGE },
  {
    title: "nested counts",
    given: "(a{100}){1000}",
    wants: /^error parsing regexp: invalid repeat count: `\{1000\}`$/,
  },
  // What stands before each repetition here hides what is repeated from a reader that does not know the syntax.
  { title: "a quoted bracket", given: `\\Q[\\E${"a{1000}".repeat(100)}`, wants: TOO_LARGE },
  { title: "a bracket in a class", given: `[[:alpha:][]${"a{1000}".repeat(100)}`, wants: TOO_LARGE },
  { title: "a range to a bracket", given: `[A-[:]${"a{1000}".repeat(100)}:]]`, wants: TOO_LARGE },
  { title: "flags before a repetition", given: "(?:a{30})(?i){30}".repeat(100), wants: TOO_LARGE },
  { title: "an empty quotation before a repetition", given: "(?:a{30})\\Q\\E{30}".repeat(100), wants: TOO_LARGE },
])("a pattern with $title is refused before it is compiled", ({ given, wants }) => {
  expect(sizeFault(given)).toMatch(wants)
  expect(() => compileRe2(given)).toThrow(wants)
})

/** Parts that change the meaning of what stands before or after them. */
const PARTS =
  "a b ( ) (?: (?i) (?s: (?P<n> [ ] ^ - [: [:alpha:] :] \\ \\Q \\E \\pL \\p{L} \\x{61} \\d {2} {3,} {0,4} {12} * + ? | [a-z] [^]x] . $ \\141 \\x41".split(
    " ",
  )

test("no pattern has more instructions than its size says", () => {
  // given patterns of random parts
  const random = seededRandom(7)
  const patterns = Array.from({ length: 8000 }, () =>
    Array.from(
      { length: 1 + Math.floor(random.next() * 9) },
      () => PARTS[Math.floor(random.next() * PARTS.length)],
    ).join(""),
  )
  let valid = 0
  for (const pattern of patterns) {
    let instructions: number
    try {
      instructions = compileRe2(pattern).programSize()
    } catch {
      continue
    }
    // when, then
    valid++
    expect({ pattern, fits: programSize(pattern).size >= instructions }).toEqual({ pattern, fits: true })
  }
  expect(valid).toBeGreaterThan(1000)
})

test("the patterns of one object may be only so large together, and equal ones count once", () => {
  const of = (i: number) => `${"a{1000}".repeat(15)}${i}`
  expect(withPatternsOfObject(() => [1, 1, 1, 1, 2].map((i) => countPattern(of(i))))).toEqual(Array(5).fill(undefined))
  expect(withPatternsOfObject(() => [1, 2, 3].map((i) => countPattern(of(i)))).at(-1)).toMatch(/at most 40000 steps/)
})

test.each([
  { title: "a long text", pattern: "ab".repeat(9990) },
  { title: "repetitions", pattern: `${"a{1000}".repeat(19)}${"b".repeat(990)}` },
])("the largest pattern of $title is compiled once, for schemas and for expressions", ({ pattern }) => {
  expect(programSize(pattern).size).toBeWithin(MOST_INSTRUCTIONS - 30, MOST_INSTRUCTIONS + 1)
  expect(patternOf(pattern)).toBe(patternOf(pattern))
  expect(compilePattern(pattern)).toBe(compilePattern(pattern))
})
