import { repeated } from "../../../../apimachinery/validation/repeated.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../../apimachinery/validation/names.ts"
import { compareQuantities, quantity, type Quantity } from "../../../../apimachinery/scalars/quantity.ts"
import type { LimitRangeItem } from "./limitrangespec.ts"
import { checked } from "../path-validation.ts"
import { containerResourceNameFaults, mayOvercommit, resourceNameFaults } from "../resources/resource-names.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/** Validates limit ranges. Source: ValidateLimitRange in pkg/apis/core/validation/validation.go. */

const TYPES = ["Pod", "Container", "PersistentVolumeClaim"]
const LISTS = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const

export function limitRangeFaults(limits: readonly LimitRangeItem[]): readonly Cause[] {
  const causes: Cause[] = []
  const again = repeated(limits, ({ type }) => type)
  for (const [i, item] of limits.entries()) {
    const path = at("spec.limits", i)
    within(causes, typeFaults(item.type), at(path, "type"))
    if (again.has(i)) causes.push(duplicate(at(path, "type"), item.type))
    within(causes, itemFaults(item), path)
  }
  return causes
}

function typeFaults(type: string): readonly Cause[] {
  const wrong = checked("", type, isQualifiedName)
  if (wrong.length > 0 || type.includes("/") || TYPES.includes(type)) return wrong
  return [invalidValue("", type, "must be a standard limit type or fully qualified")]
}

function itemFaults(item: LimitRangeItem): readonly Cause[] {
  const causes: Cause[] = []
  const isPod = item.type === "Pod"
  const nameFaults = isPod || item.type === "Container" ? containerResourceNameFaults : resourceNameFaults
  for (const list of LISTS) {
    if (list === "maxLimitRequestRatio" && item.type === "PersistentVolumeClaim") pushAll(causes, storageFaults(item))
    const names = Object.keys(item[list] ?? {})
    if (isPod && (list === "default" || list === "defaultRequest")) {
      if (names.length > 0) causes.push(forbiddenField(list, "may not be specified when `type` is 'Pod'"))
    } else
      for (const name of names) {
        const found = nameFaults(name)
        if (found.length > 0) within(causes, found, atKey(list, name))
      }
  }
  for (const name of new Set(LISTS.flatMap((list) => Object.keys(item[list] ?? {}))))
    pushAll(causes, amountFaults(item, name, isPod))
  return causes
}

const storageFaults = ({ min = {}, max = {} }: LimitRangeItem): readonly Cause[] =>
  min["storage"] === undefined && max["storage"] === undefined
    ? [required("limits", "either minimum or maximum storage value is required, but neither was provided")]
    : []

/** Compares the amounts of one resource with each other. */
function amountFaults(item: LimitRangeItem, name: string, isPod: boolean): readonly Cause[] {
  const of = (list: (typeof LISTS)[number]) => (Object.hasOwn(item[list] ?? {}, name) ? item[list]![name] : undefined)
  const [min, max, ratio] = [of("min"), of("max"), of("maxLimitRequestRatio")]
  const [limit, request] = isPod ? [undefined, undefined] : [of("default"), of("defaultRequest")]
  const causes: Cause[] = []
  const order = (small: string | undefined, large: string | undefined, words: string, list: string, shown = small) => {
    if (small !== undefined && large !== undefined && compare(small, large) > 0) {
      const [smaller, larger] = words.split("/")
      causes.push(
        invalidValue(atKey(list, name), shown, `${smaller} value ${small} is greater than ${larger} value ${large}`),
      )
    }
  }
  order(min, max, "min/max", "min")
  order(min, request, "min/default request", "defaultRequest", request)
  order(request, max, "default request/max", "defaultRequest")
  order(request, limit, "default request/default limit", "defaultRequest")
  order(min, limit, "min/default", "default")
  order(limit, max, "default/max", "default", max)
  if (ratio !== undefined) pushAll(causes, ratioFaults(atKey("maxLimitRequestRatio", name), ratio, min, max))
  if (!mayOvercommit(name) && limit !== undefined && request !== undefined && compare(limit, request) !== 0)
    causes.push(
      invalidValue(
        atKey("defaultRequest", name),
        request,
        `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
      ),
    )
  return causes
}

const compare = (a: string, b: string): number => compareQuantities(quantity(a), quantity(b))

function ratioFaults(field: string, ratio: string, min: string | undefined, max: string | undefined): readonly Cause[] {
  const causes: Cause[] = compare(ratio, "1") < 0 ? [invalidValue(field, ratio, `ratio ${ratio} is less than 1`)] : []
  if (min === undefined || max === undefined) return causes
  const most = numberOf(quantity(max)) / numberOf(quantity(min))
  return numberOf(quantity(ratio)) > most
    ? [...causes, invalidValue(field, ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`)]
    : causes
}

/** Returns the number rounded up to thousandths, as Go does here. */
const numberOf = ({ nano }: Quantity): number => Number((nano + 999_999n) / 1_000_000n) / 1000
