import { expect, test } from "bun:test"
import { compareVersions, parseVersion } from "./semver.ts"

test.each(["1.0.0", "0.0.0", "1.2.3-alpha.1+build.7", "1.2.3-0.a-b", "18446744073709551615.0.0"])(
  "%s is a version",
  (text) => {
    expect(parseVersion(text)).toBeDefined()
  },
)

test.each([
  "",
  "1",
  "1.2",
  "v1.2.3",
  "1.02.3",
  "1.2.3-",
  "1.2.3-01",
  "1.2.3-a..b",
  "1.2.3+",
  "1.2.3+a..b",
  "1.2.3.4",
  " 1.2.3",
  "18446744073709551616.0.0",
  `1.2.3-${"a".repeat(2000)}`,
])("%j is no version", (text) => {
  expect(parseVersion(text)).toBeUndefined()
})

test("versions are ordered, a prerelease before its release", () => {
  // Source: semver.org, precedence.
  const ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"]
  const all = [...ordered, "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "1.10.0", "2.0.0"].map((text) =>
    parseVersion(text)!,
  )
  for (const [i, a] of all.entries())
    for (const [j, b] of all.entries()) expect(Math.sign(compareVersions(a, b))).toBe(Math.sign(i - j))
  expect(compareVersions(parseVersion("1.0.0+a")!, parseVersion("1.0.0+b")!)).toBe(0)
})
