import { BOOL, INT, SEMVER, STRING, type CelType } from "../type.ts"
import { CelError, intOf, LARGEST_UINT, OpaqueValue, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"

/** Semantic versions. Source: apiserver pkg/cel/library/semverlib.go, blang/semver. */

type Version = Readonly<Record<"major" | "minor" | "patch", bigint>> & {
  readonly pre: readonly (string | bigint)[]
}

export class SemverValue extends OpaqueValue {
  readonly type: CelType = SEMVER
  readonly version: Version
  constructor(version: Version) {
    super()
    this.version = version
  }
  equals(other: Value): boolean {
    return other instanceof SemverValue && compare(this, other) === 0
  }
}

function number(text: string, name: string): bigint | CelError {
  if (!/^[0-9]*$/.test(text)) return new CelError(`Invalid character(s) found in ${name} number "${text}"`)
  if (/^0./.test(text))
    return new CelError(`${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes "${text}"`)
  if (text === "") return new CelError('strconv.ParseUint: parsing "": invalid syntax')
  const value = text.length > 20 ? LARGEST_UINT + 1n : BigInt(text)
  return value > LARGEST_UINT ? new CelError(`strconv.ParseUint: parsing "${text}": value out of range`) : value
}

function parse(text: string): Value {
  if (text === "") return new CelError("Version string empty")
  const [first, second, ...rest] = text.split(".")
  if (second === undefined || rest.length === 0) return new CelError("No Major.Minor.Patch elements found")
  const [withPre = "", ...builds] = rest.join(".").split("+")
  const dash = withPre.indexOf("-")
  const pre = dash < 0 ? [] : withPre.slice(dash + 1).split(".")
  const major = number(first!, "major")
  if (major instanceof CelError) return major
  const minor = number(second, "minor")
  if (minor instanceof CelError) return minor
  const patch = number(dash < 0 ? withPre : withPre.slice(0, dash), "patch")
  if (patch instanceof CelError) return patch
  const prerelease: (string | bigint)[] = []
  for (const part of pre) {
    const read = prereleasePart(part)
    if (read instanceof CelError) return read
    prerelease.push(read)
  }
  for (const part of builds.length === 0 ? [] : builds.join("+").split(".")) {
    if (part === "") return new CelError("Build meta data is empty")
    if (!/^[0-9A-Za-z-]+$/.test(part)) return new CelError(`Invalid character(s) found in build meta data "${part}"`)
  }
  return new SemverValue({ major, minor, patch, pre: prerelease })
}

function prereleasePart(part: string): string | bigint | CelError {
  if (part === "") return new CelError("Prerelease is empty")
  if (/^[0-9]+$/.test(part))
    return /^0./.test(part)
      ? new CelError(`Numeric PreRelease version must not contain leading zeroes "${part}"`)
      : number(part, "prerelease")
  return /^[0-9A-Za-z-]+$/.test(part) ? part : new CelError(`Invalid character(s) found in prerelease "${part}"`)
}

/** Parses a version after it removed a leading v and leading zeros, and added missing numbers. */
function parseNormalized(text: string, normalize: boolean): Value {
  if (!normalize) return parse(text)
  const [first = "", second, ...rest] = text.replace(/^v/, "").split(".")
  const parts = [first, ...(second === undefined ? [] : [second]), ...(rest.length === 0 ? [] : [rest.join(".")])]
  const plain = parts.map((part) => (part.length > 1 ? part.replace(/^0+(?=[0-9])/, "") : part))
  if (plain.length < 3 && /[+-]/.test(plain.at(-1)!))
    return new CelError("short version cannot contain PreRelease/Build meta data")
  while (plain.length < 3) plain.push("0")
  return parse(plain.join("."))
}

const order = <T extends bigint | number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)

function compare({ version: a }: SemverValue, { version: b }: SemverValue): number {
  const numbers = order(a.major, b.major) || order(a.minor, b.minor) || order(a.patch, b.patch)
  if (numbers !== 0) return numbers
  if (a.pre.length === 0 || b.pre.length === 0) return order(b.pre.length, 0) - order(a.pre.length, 0)
  for (let i = 0; i < Math.min(a.pre.length, b.pre.length); i++) {
    const [left, right] = [a.pre[i]!, b.pre[i]!]
    // Orders identifiers of a prerelease: numbers come before words.
    const difference =
      typeof left === typeof right ? order(left, right as typeof left) : typeof left === "bigint" ? -1 : 1
    if (difference !== 0) return difference
  }
  return order(a.pre.length, b.pre.length)
}

const isSemver = (text: string, normalize = false): Value => parseNormalized(text, normalize) instanceof SemverValue

const PAIR = [SEMVER, SEMVER]

export const SEMVERS: readonly FunctionDeclaration[] = [
  declare("semver", [
    overload("string_to_semver", [STRING], SEMVER, parse),
    overload("string_bool_to_semver", [STRING, BOOL], SEMVER, parseNormalized),
  ]),
  declare("isSemver", [
    overload("is_semver_string", [STRING], BOOL, isSemver),
    overload("is_semver_string_bool", [STRING, BOOL], BOOL, isSemver),
  ]),
  declare("isGreaterThan", [
    member("semver_is_greater_than", PAIR, BOOL, (a: SemverValue, b: SemverValue) => compare(a, b) > 0),
  ]),
  declare("isLessThan", [
    member("semver_is_less_than", PAIR, BOOL, (a: SemverValue, b: SemverValue) => compare(a, b) < 0),
  ]),
  declare("compareTo", [member("semver_compare_to", PAIR, INT, compare)]),
  ...(["major", "minor", "patch"] as const).map((name) =>
    declare(name, [member(`semver_${name}`, [SEMVER], INT, ({ version }: SemverValue) => intOf(version[name]))]),
  ),
]
