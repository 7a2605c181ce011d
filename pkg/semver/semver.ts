/** A semantic version (semver.org, 2.0.0), without what it says of the build. */
export interface SemanticVersion {
  readonly numbers: readonly bigint[]
  /** Of a prerelease. */
  readonly identifiers: readonly (bigint | string)[]
}

const LARGEST = 2n ** 64n - 1n
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/
/** Longer texts are no versions that anybody means. */
const LONGEST = 1024

/** Parses a version without a leading `v`; undefined where the text is none. Source: blang/semver Parse. */
export function parseVersion(text: string): SemanticVersion | undefined {
  const found = text.length > LONGEST ? null : VERSION.exec(text)
  if (found === null) return undefined
  const numbers = found.slice(1, 4).map((part) => BigInt(part))
  const parts = found[4]?.split(".") ?? []
  const build = found[5]?.split(".") ?? []
  if (parts.some((part) => part === "" || /^0\d+$/.test(part)) || build.includes("")) return undefined
  const identifiers = parts.map((part) => (/^\d+$/.test(part) ? BigInt(part) : part))
  const all = [...numbers, ...identifiers.filter((one) => typeof one === "bigint")]
  return all.some((number) => number > LARGEST) ? undefined : { numbers, identifiers }
}

/** Returns a number below 0 where `a` comes before `b`, and 0 for equal versions. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  for (const [i, number] of a.numbers.entries()) if (number !== b.numbers[i]) return number < b.numbers[i]! ? -1 : 1
  // A prerelease comes before its release.
  if (a.identifiers.length === 0 || b.identifiers.length === 0) return b.identifiers.length - a.identifiers.length
  for (const [i, one] of a.identifiers.entries()) {
    const other = b.identifiers[i]
    if (other === undefined) return 1
    if (one === other) continue
    if (typeof one !== typeof other) return typeof one === "bigint" ? -1 : 1
    return one < other ? -1 : 1
  }
  return a.identifiers.length - b.identifiers.length
}
