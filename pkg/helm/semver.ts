/** Versions and ranges of versions as charts have them. Source of the rules: Masterminds/semver v3. */
export interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
  readonly prerelease: string
  readonly metadata: string
  readonly original: string
}

const NUMBER = String.raw`(\d+)`
const VERSION = new RegExp(
  String.raw`^v?${NUMBER}(?:\.${NUMBER})?(?:\.${NUMBER})?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$`,
)

/** Reads a version, of which minor and patch may be left out. @throws Error */
export function parseVersion(text: string): Version {
  const [whole, major, minor = "0", patch = "0", prerelease = "", metadata = ""] = VERSION.exec(text) ?? []
  if (whole === undefined) throw new Error("Invalid Semantic Version")
  return { major: Number(major), minor: Number(minor), patch: Number(patch), prerelease, metadata, original: text }
}

function comparePrerelease(a: string, b: string): number {
  if (a === b) return 0
  if (a === "" || b === "") return a === "" ? 1 : -1
  const [left, right] = [a.split("."), b.split(".")]
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [x, y] = [left[i], right[i]]
    if (x === y) continue
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1
    const [isX, isY] = [/^\d+$/.test(x), /^\d+$/.test(y)]
    if (isX && isY) return Number(x) - Number(y)
    if (isX || isY) return isX ? -1 : 1
    return x < y ? -1 : 1
  }
  return 0
}

export const compareVersions = (a: Version, b: Version): number =>
  a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePrerelease(a.prerelease, b.prerelease)

interface Bound {
  readonly operator: string
  readonly version: Version
  /** How many of major, minor and patch are given; the rest are wildcards or left out. */
  readonly given: number
}

const PART = String.raw`(\d+|[xX*])`
const CONSTRAINT = new RegExp(
  String.raw`^(=|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*v?${PART}(?:\.${PART})?(?:\.${PART})?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`,
)

function boundOf(text: string): Bound {
  const [whole, operator = "", ...rest] = CONSTRAINT.exec(text.trim()) ?? []
  if (whole === undefined) throw new Error(`improper constraint: ${text}`)
  const parts = rest.slice(0, 3)
  const wild = parts.findIndex((part) => part === undefined || /[xX*]/.test(part))
  const given = wild < 0 ? 3 : wild
  const [major = 0, minor = 0, patch = 0] = parts.slice(0, given).map(Number)
  const prerelease = rest[3] ?? ""
  return { operator, version: { major, minor, patch, prerelease, metadata: "", original: text }, given }
}

const above = ({ major, minor, patch }: Version, given: number): Version => ({
  major: given <= 1 ? major + 1 : major,
  minor: given <= 1 ? 0 : given === 2 ? minor + 1 : minor,
  patch: given <= 2 ? 0 : patch + 1,
  prerelease: "",
  metadata: "",
  original: "",
})

const isWithin = (version: Version, least: Version, below: Version): boolean =>
  compareVersions(version, least) >= 0 && compareVersions({ ...version, prerelease: "" }, below) < 0

function meets(version: Version, { operator, version: bound, given }: Bound): boolean {
  // A version before a release matches only what names such versions.
  if (version.prerelease !== "" && bound.prerelease === "" && operator !== "!=") return false
  const order = compareVersions(version, bound)
  if (given === 0) return operator !== "!=" && operator !== ">" && operator !== "<"
  switch (operator) {
    case "":
    case "=":
      return given === 3 ? order === 0 : isWithin(version, bound, above(bound, given))
    case "!=":
      return given === 3 ? order !== 0 : !isWithin(version, bound, above(bound, given))
    case ">":
      return given === 3 ? order > 0 : compareVersions(version, above(bound, given)) >= 0
    case "<":
      return order < 0
    case ">=":
    case "=>":
      return order >= 0
    case "<=":
    case "=<":
      return given === 3 ? order <= 0 : compareVersions(version, above(bound, given)) < 0
    case "~":
    case "~>":
      return isWithin(version, bound, above(bound, Math.min(given, 2)))
    default: {
      const { major, minor } = bound
      const fixed = major > 0 || given === 1 ? 1 : minor > 0 || given === 2 ? 2 : 3
      return isWithin(version, bound, above(bound, fixed))
    }
  }
}

/** Whether a version is in a range such as `>=1.2.0, <2` or `^1 || ~2.3`. @throws Error for what is no range */
export function isInRange(range: string, text: string): boolean {
  const version = parseVersion(text)
  return range.split("||").some((alternative) => {
    const plain = alternative
      .trim()
      .replace(/(?<!\S)(\S+)\s+-\s+(\S+)/g, ">=$1 <=$2")
      .replace(/(?<![<>=!~^])([<>=!~^]+)\s+/g, "$1")
    const bounds = plain === "" ? ["*"] : plain.split(/[\s,]+/).filter((each) => each !== "")
    return bounds.map(boundOf).every((bound) => meets(version, bound))
  })
}
