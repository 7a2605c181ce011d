import type { Cause } from "../../../apimachinery/errors.ts"
import {
  duplicate,
  eachWithin,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  required,
  tooLong,
  tooMany,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isLabelValue,
  isQualifiedName,
  patternMessage,
} from "../../../apimachinery/validation/names.ts"
import { driverName } from "../../core/v1/path-validation.ts"

/** Names that claims and slices have in common. Source: pkg/apis/resource/validation/validation.go. */

const LONGEST_POOL = 253
const LONGEST_ID = 32
const ID = "[A-Za-z_][A-Za-z0-9_]*"
const ID_RULE =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'"
const idPattern = new RegExp(`^${ID}$`)
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export const labelName = (field: string, name: string): readonly Cause[] =>
  invalidValues(field, name, isDNS1123Label(name))
export const qualifiedLabel = (field: string, name: string): readonly Cause[] =>
  invalidValues(field, name, isQualifiedName(name))
export const labelValue = (field: string, value: string): readonly Cause[] =>
  invalidValues(field, value, isLabelValue(value))

export const driverFaults = (field: string, name: string): readonly Cause[] =>
  name === "" ? [required(field)] : driverName(field, name)

export const classNameFaults = (field: string, name: string): readonly Cause[] =>
  name === "" ? [required(field)] : invalidValues(field, name, isDNS1123Subdomain(name))

export function poolNameFaults(field: string, name: string): readonly Cause[] {
  if (name === "") return [required(field)]
  return [
    ...(name.length > LONGEST_POOL ? [tooLong(field, LONGEST_POOL)] : []),
    ...name.split("/").flatMap((part) => invalidValues(field, part, isDNS1123Subdomain(part))),
  ]
}

export const shareFaults = (field: string, id: string): readonly Cause[] =>
  UUID.test(id)
    ? NO_CAUSES
    : [
        invalidValue(
          field,
          id,
          "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters",
        ),
      ]

/** Returns the faults of the name of an attribute or a capacity: an identifier, optionally with a domain before it. */
export function attributeNameFaults(field: string, name: string): readonly Cause[] {
  const parts = name.split("/")
  const [domain = "", id = ""] = parts
  if (parts.length === 1) return idFaults(field, domain)
  if (parts.length > 2) return NO_CAUSES
  return [
    ...(domain === "" ? [invalidValue(field, "", "the domain must not be empty")] : driverName(field, domain)),
    ...(id === "" ? [invalidValue(field, "", "the name must not be empty")] : idFaults(field, id)),
  ]
}

export const fullAttributeNameFaults = (field: string, name: string): readonly Cause[] => [
  ...attributeNameFaults(field, name),
  ...(name.includes("/")
    ? []
    : [invalidValue(field, name, "a fully qualified name must be a domain and a name separated by a slash")]),
]

const idFaults = (field: string, id: string): readonly Cause[] => [
  ...(id.length > LONGEST_ID ? [tooLong(field, LONGEST_ID)] : []),
  ...(idPattern.test(id) ? [] : [invalidValue(field, id, patternMessage(ID_RULE, ID, "my_name", "MY_NAME", "MyName"))]),
]

/**
 * Returns the faults of a list: its length, its items, and, with `keyOf`, duplicate keys. The items of a list that is
 * too long are not checked.
 */
export function listFaults<T>(
  field: string,
  items: readonly T[],
  { most, faults, keyOf }: { most: number; faults(item: T): readonly Cause[]; keyOf?: (item: T) => unknown },
): readonly Cause[] {
  if (items.length > most) return [tooMany(field, items.length, most)]
  const causes: Cause[] = []
  eachWithin(causes, items, field, faults)
  if (keyOf === undefined) return causes
  const seen = new Set<unknown>()
  for (const [i, item] of items.entries()) {
    const key = keyOf(item)
    if (seen.has(key)) causes.push(duplicate(`${field}[${i}]`, key))
    seen.add(key)
  }
  return causes
}

const MOST_CONDITIONS = 4

/** Returns the faults of binding conditions: both lists or neither must be set, and no condition may be in both. */
export function bindingFaults({
  bindingConditions: wanted = [],
  bindingFailureConditions: failed = [],
}: {
  readonly bindingConditions?: readonly string[] | undefined
  readonly bindingFailureConditions?: readonly string[] | undefined
}): readonly Cause[] {
  const rules = { most: MOST_CONDITIONS, faults: (name: string) => qualifiedLabel("", name) }
  const causes: Cause[] = [
    ...listFaults("bindingConditions", wanted, rules),
    ...listFaults("bindingFailureConditions", failed, rules),
  ]
  for (const [field, list] of Object.entries({ bindingConditions: wanted, bindingFailureConditions: failed }))
    for (const [i, name] of list.entries()) if (list.indexOf(name) < i) within(causes, [duplicate("", name)], field, i)
  for (const [i, name] of failed.entries())
    if (wanted.includes(name))
      causes.push(
        invalidValue(
          `bindingFailureConditions[${i}]`,
          name,
          "bindingFailureConditions must not overlap with bindingConditions",
        ),
      )
  if (wanted.length === 0 && failed.length > 0)
    causes.push(
      invalidValue("bindingConditions", wanted, "bindingConditions are required to use bindingFailureConditions"),
    )
  if (failed.length === 0 && wanted.length > 0)
    causes.push(
      invalidValue(
        "bindingFailureConditions",
        failed,
        "bindingFailureConditions are required to use bindingConditions",
      ),
    )
  return causes
}
