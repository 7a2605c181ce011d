import type { Cause } from "../../../apimachinery/errors.ts"
import { at, atKey, duplicate, forbiddenField, invalidValue } from "../../../apimachinery/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { compareQuantities, quantity } from "../../../apimachinery/quantity.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api core/v1/types.go, SetDefaults_LimitRangeItem, ValidateLimitRange in pkg/apis/core/validation. */

export const LimitRangeItem = message(
  "core.v1.LimitRangeItem",
  "Bounds of the resources of one kind of thing.",
  {
    type: f.string(1, "Pod, Container or PersistentVolumeClaim.").required(),
    max: f.map(2, e.quantity, "Most that may be asked for."),
    min: f.map(3, e.quantity, "Least that must be asked for."),
    default: f.map(4, e.quantity, "Limit of a container that has none."),
    defaultRequest: f.map(5, e.quantity, "Request of a container that has none."),
    maxLimitRequestRatio: f.map(6, e.quantity, "How many times the request a limit may be."),
  },
  { defaults: (item: never): object => itemDefaults(item) },
)
export interface LimitRangeItem extends ObjectOf<typeof LimitRangeItem> {}

export const LimitRangeSpec = message("core.v1.LimitRangeSpec", "Bounds of what objects in a namespace may ask for.", {
  limits: f.list(1, LimitRangeItem, "The bounds.").atomic().printZero().orNull(),
})
export interface LimitRangeSpec extends ObjectOf<typeof LimitRangeSpec> {}

const fields = {
  spec: f.message(2, LimitRangeSpec, "The bounds.").always(),
}
export interface LimitRange extends ObjectFor<typeof fields> {}

export const LimitRange = defineResource(
  {
    group: "",
    version: "v1",
    kind: "LimitRange",
    plural: "limitranges",
    shortNames: ["limits"],
    scope: "Namespaced",
    doc: "Bounds and defaults of the resources of each pod, container and claim in a namespace.",
    allowCreateOnUpdate: true,
    validate: ({ spec: { limits } }) =>
      (limits ?? []).flatMap((item, i, all) => [
        ...(all.findIndex(({ type }) => type === item.type) === i
          ? []
          : [duplicate(at("spec.limits", i, "type"), item.type)]),
        ...itemFaults(item, at("spec.limits", i)),
      ]),
  },
  fields,
)

type Amounts = Readonly<Record<string, string>>

/** For containers the limit defaults to the maximum, the request to the limit and then to the minimum. */
function itemDefaults(item: LimitRangeItem): LimitRangeItem {
  if (item.type !== "Container") return item
  const limits: Amounts = { ...item.max, ...item.default }
  const requests: Amounts = { ...item.min, ...limits, ...item.defaultRequest }
  return {
    ...item,
    ...(Object.keys(limits).length === 0 ? {} : { default: limits }),
    ...(Object.keys(requests).length === 0 ? {} : { defaultRequest: requests }),
  }
}

function itemFaults(item: LimitRangeItem, here: string): readonly Cause[] {
  // Without a prototype: `constructor` and the like are absent unless given.
  const own = (amounts: Amounts | undefined) => Object.assign(Object.create(null), amounts) as Amounts
  const [max, min, limits, requests, ratios] = [
    item.max,
    item.min,
    item.default,
    item.defaultRequest,
    item.maxLimitRequestRatio,
  ].map(own) as [Amounts, Amounts, Amounts, Amounts, Amounts]
  const causes: Cause[] = []
  if (item.type === "Pod") {
    if (Object.keys(limits).length > 0)
      causes.push(forbiddenField(at(here, "default"), "may not be specified when `type` is 'Pod'"))
    if (Object.keys(requests).length > 0)
      causes.push(forbiddenField(at(here, "defaultRequest"), "may not be specified when `type` is 'Pod'"))
  }
  if (item.type === "PersistentVolumeClaim" && min["storage"] === undefined && max["storage"] === undefined)
    causes.push({
      reason: "FieldValueRequired",
      field: at(here, "limits"),
      message: "Required value: either minimum or maximum storage value is required, but neither was provided",
    })
  const above = (a: Amounts, b: Amounts, name: string) =>
    a[name] !== undefined && b[name] !== undefined && compareQuantities(quantity(a[name]), quantity(b[name])) > 0
  for (const name of new Set([max, min, limits, requests, ratios].flatMap((amounts) => Object.keys(amounts)))) {
    const order = (a: Amounts, aField: string, aWord: string, b: Amounts, bWord: string) => {
      if (above(a, b, name))
        causes.push(
          invalidValue(
            atKey(at(here, aField), name),
            a[name],
            `${aWord} value ${a[name]} is greater than ${bWord} value ${b[name]}`,
          ),
        )
    }
    order(min, "min", "min", max, "max")
    order(min, "defaultRequest", "min", requests, "default request")
    order(requests, "defaultRequest", "default request", max, "max")
    order(requests, "defaultRequest", "default request", limits, "default limit")
    order(min, "default", "min", limits, "default")
    order(limits, "default", "default", max, "max")
    const ratio = ratios[name]
    if (ratio !== undefined && compareQuantities(quantity(ratio), quantity("1")) < 0)
      causes.push(invalidValue(atKey(at(here, "maxLimitRequestRatio"), name), ratio, `ratio ${ratio} is less than 1`))
  }
  return causes
}
