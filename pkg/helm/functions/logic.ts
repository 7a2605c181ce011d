import { goTypeOf } from "../../go-fmt/go-number.ts"
import { GoObject } from "../../go-fmt/go-object.ts"
import { goInt } from "../../go-fmt/go-number.ts"
import { failCall } from "../../go-template/function-error.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"
import { compileRe2 } from "../../re2/re2.ts"
import { checkLength } from "../limits.ts"
import { isInRange, parseVersion } from "../semver.ts"
import { anyOf, attempt, isDeepEqual, isEmptyValue, kindOf, text, whole } from "./convert.ts"

interface Match {
  readonly start: number
  readonly end: number
  readonly group: (group: number | string) => string
}

/** The most matches that are found in one text. */
const MOST_MATCHES = 200_000

/** Returns the matches of a pattern, up to `most` where that is not negative. */
function matches(pattern: string, value: string, most: number): readonly Match[] {
  const matcher = attempt(() => compileRe2(pattern)).matcher(value)
  const groupNames = [...pattern.matchAll(/\(\?P?<(\w+)>/g)].map(([, name]) => name!)
  const found: Match[] = []
  while ((most < 0 || found.length < most) && matcher.find()) {
    if (found.length === MOST_MATCHES) failCall(`the text has more than ${MOST_MATCHES} matches`)
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, i) => matcher.group(i) ?? "")
    const named = (name: string) => {
      try {
        return matcher.group(name) ?? ""
      } catch {
        return ""
      }
    }
    const names = new Map(groupNames.map((name) => [name, named(name)]))
    found.push({
      start: matcher.start(),
      end: matcher.end(),
      group: (group) => (typeof group === "number" ? groups[group] : names.get(group)) ?? "",
    })
  }
  return found
}

function replaced(pattern: string, value: string, by: (match: Match) => string): string {
  let [out, at] = ["", 0]
  for (const match of matches(pattern, value, -1)) {
    out += value.slice(at, match.start) + by(match)
    checkLength(out.length)
    at = match.end
  }
  return out + value.slice(at)
}

/** Replaces `$1`, `${1}` and `$name` by groups, as Go's regexp.Expand. */
const expanded = (template: string, match: Match): string =>
  template.replace(/\$(?:(\$)|\{(\w+)\}|(\w+))/g, (_, dollar: string | undefined, braced?: string, bare?: string) => {
    if (dollar !== undefined) return "$"
    const name = braced ?? bare ?? ""
    return match.group(/^\d+$/.test(name) ? Number(name) : name)
  })

function splitBy(pattern: string, value: string, most: number): readonly string[] {
  if (most === 0) return []
  const parts: string[] = []
  let at = 0
  for (const { start, end } of matches(pattern, value, -1)) {
    if (most > 0 && parts.length === most - 1) break
    if (end === 0 || (start === end && start === value.length)) continue
    parts.push(value.slice(at, start))
    at = end
  }
  return [...parts, value.slice(at)]
}

const regexMatch = anyOf((pattern, value) => matches(text(pattern), text(value), 1).length > 0)
const regexFind = anyOf((pattern, value) => matches(text(pattern), text(value), 1)[0]?.group(0) ?? "")
const regexFindAll = anyOf((pattern, value, most) =>
  matches(text(pattern), text(value), whole(most)).map((match) => match.group(0)),
)
const regexReplaceAll = anyOf((pattern, value, by) =>
  replaced(text(pattern), text(value), (match) => expanded(text(by), match)),
)
const regexReplaceAllLiteral = anyOf((pattern, value, by) => replaced(text(pattern), text(value), () => text(by)))
const regexSplit = anyOf((pattern, value, most) => splitBy(text(pattern), text(value), whole(most)))

function versionObject(value: string): GoObject {
  const version = attempt(() => parseVersion(value))
  const { major, minor, patch, prerelease, metadata, original } = version
  const after = `${prerelease === "" ? "" : `-${prerelease}`}${metadata === "" ? "" : `+${metadata}`}`
  const shown = `${major}.${minor}.${patch}${after}`
  return new GoObject({
    type: "*semver.Version",
    text: shown,
    methods: {
      Major: () => goInt(major),
      Minor: () => goInt(minor),
      Patch: () => goInt(patch),
      Prerelease: () => prerelease,
      Metadata: () => metadata,
      Original: () => original,
      String: () => shown,
    },
  })
}

/** Functions of conditions, kinds, patterns and versions. Source of names and rules: Masterminds/sprig. */
export const LOGIC_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  default: anyOf((otherwise, value) => (isEmptyValue(value) ? otherwise : value)),
  empty: anyOf((value) => isEmptyValue(value)),
  coalesce: anyOf((...values) => values.find((value) => !isEmptyValue(value)) ?? null),
  all: anyOf((...values) => values.every((value) => !isEmptyValue(value))),
  any: anyOf((...values) => values.some((value) => !isEmptyValue(value))),
  ternary: anyOf((yes, no, condition) =>
    typeof condition === "boolean"
      ? condition
        ? yes
        : no
      : failCall(`wrong type for value; expected bool; got ${goTypeOf(condition)}`),
  ),
  typeOf: anyOf((value) => goTypeOf(value)),
  typeIs: anyOf((type, value) => goTypeOf(value) === type),
  typeIsLike: anyOf((type, value) => goTypeOf(value) === type || goTypeOf(value) === `*${text(type)}`),
  kindOf: anyOf((value) => kindOf(value)),
  kindIs: anyOf((kind, value) => kindOf(value) === kind),
  deepEqual: anyOf((a, b) => isDeepEqual(a, b)),
  semver: anyOf((value) => versionObject(text(value))),
  semverCompare: anyOf((range, version) => attempt(() => isInRange(text(range), text(version)))),
  regexMatch,
  mustRegexMatch: regexMatch,
  regexFind,
  mustRegexFind: regexFind,
  regexFindAll,
  mustRegexFindAll: regexFindAll,
  regexReplaceAll,
  mustRegexReplaceAll: regexReplaceAll,
  regexReplaceAllLiteral,
  mustRegexReplaceAllLiteral: regexReplaceAllLiteral,
  regexSplit,
  mustRegexSplit: regexSplit,
  regexQuoteMeta: anyOf((value) => text(value).replace(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`)),
  hello: anyOf(() => "Hello!"),
  getHostByName: anyOf(() => ""),
}
