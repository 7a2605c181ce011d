import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

export const LimitRangeItem = message(
  "core.v1.LimitRangeItem",
  "Bounds for the resources of containers, pods or claims.",
  {
    type: f.string(1, "Pod, Container or PersistentVolumeClaim.").required().ownRule(),
    max: f.map(2, e.quantity, "Most that may be asked for."),
    min: f.map(3, e.quantity, "Least that must be asked for."),
    default: f.map(4, e.quantity, "Limit of a container that has none."),
    defaultRequest: f.map(5, e.quantity, "Request of a container that has none."),
    maxLimitRequestRatio: f.map(6, e.quantity, "How many times the request a limit may be."),
  },
  { defaults: (item: never): object => itemDefaults(item) },
)
export interface LimitRangeItem extends ObjectOf<typeof LimitRangeItem> {}

export const LimitRangeSpec = message(
  "core.v1.LimitRangeSpec",
  "Bounds for the requests and limits of objects in a namespace.",
  {
    limits: f.list(1, LimitRangeItem, "The bounds.").atomic().printZero().orNull(),
  },
)
export interface LimitRangeSpec extends ObjectOf<typeof LimitRangeSpec> {}

type Amounts = Readonly<Record<string, string>>

/**
 * Sets the defaults for containers: the default limit is the maximum; the default request is the default limit, else
 * the minimum.
 */
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
