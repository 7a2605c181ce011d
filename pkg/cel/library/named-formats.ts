import {
  asPrefix,
  isDNS1035Label,
  isDNS1123Label,
  isDNS1123Subdomain,
  isLabelValue,
  isQualifiedName,
  type Check,
} from "../../apimachinery/validation/names.ts"
import { parseTimestamp } from "../values/time.ts"
import { FORMAT, listOf, optionalOf, STRING, type CelType } from "../type.ts"
import { ArrayList, OpaqueValue, Optional, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"
import { parseRequestUri } from "./go-url.ts"

/** Named formats of strings. Source: apiserver pkg/cel/library/format.go. */

export class FormatValue extends OpaqueValue {
  readonly type: CelType = FORMAT
  readonly name: string
  readonly check: Check
  /** The length of the pattern by which the cost of a check is computed. */
  readonly patternSize: number
  constructor(name: string, check: Check, patternSize: number) {
    super()
    this.name = name
    this.check = check
    this.patternSize = patternSize
  }
  equals(other: Value): boolean {
    return other instanceof FormatValue && other.name === this.name
  }
}

const matching =
  (pattern: RegExp, fault: string): Check =>
  (value) =>
    pattern.test(value) ? undefined : fault

const isDate = (text: string): boolean => parseTimestamp(`${text}T00:00:00Z`) !== undefined

function isDateTime(text: string): boolean {
  const [date, time] = text.toLowerCase().split("t")
  const match = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/.exec(time ?? "")
  if (match === null || !isDate(date!)) return false
  return match[1]! <= "23" && match[2]! <= "59" && match[3]! <= "59"
}

const uri: Check = (value) => {
  const url = parseRequestUri(value)
  return "fault" in url ? url.fault : undefined
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/

/** By the names that expressions use; sizes are those of upstream's patterns. */
const FORMATS: ReadonlyMap<string, FormatValue> = new Map(
  (
    [
      ["dns1123Label", "DNS1123Label", isDNS1123Label, 30],
      ["dns1123Subdomain", "DNS1123Subdomain", isDNS1123Subdomain, 60],
      ["dns1035Label", "DNS1035Label", isDNS1035Label, 30],
      ["qualifiedName", "QualifiedName", isQualifiedName, 60],
      ["dns1123LabelPrefix", "DNS1123LabelPrefix", asPrefix(isDNS1123Label), 30],
      ["dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", asPrefix(isDNS1123Subdomain), 60],
      ["dns1035LabelPrefix", "DNS1035LabelPrefix", asPrefix(isDNS1035Label), 30],
      ["labelValue", "LabelValue", isLabelValue, 40],
      ["uri", "URI", uri, 1103],
      ["uuid", "uuid", matching(UUID, "does not match the UUID format"), 70],
      ["byte", "byte", matching(BASE64, "invalid base64"), 84],
      ["date", "date", (value: string) => (isDate(value) ? undefined : "invalid date"), 71],
      ["datetime", "datetime", (value: string) => (isDateTime(value) ? undefined : "invalid datetime"), 71],
    ] as const
  ).map(([key, name, check, size]) => [key, new FormatValue(name, check, size)]),
)

function validate(format: FormatValue, text: string): Value {
  const problem = format.check(text)
  if (problem === undefined) return Optional.NONE
  return new Optional(new ArrayList(typeof problem === "string" ? [problem] : problem))
}

export const NAMED_FORMATS: readonly FunctionDeclaration[] = [
  declare("validate", [member("format-validate", [FORMAT, STRING], optionalOf(listOf(STRING)), validate)]),
  declare("format.named", [
    overload("format-named", [STRING], optionalOf(FORMAT), (name: string) => {
      const format = FORMATS.get(name)
      return format === undefined ? Optional.NONE : new Optional(format)
    }),
  ]),
  ...Array.from(FORMATS, ([name, format]) =>
    declare(`format.${name}`, [overload(`format.${name}`, [], FORMAT, () => format)]),
  ),
]
