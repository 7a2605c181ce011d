import { FormatValue } from "../library/named-formats.ts"
import { affordable } from "../limits.ts"
import { ListValue, MapValue, StructValue, type Value } from "../values/values.ts"
import { NEW_LIST, NEW_STRUCT, sizeForCost, TEXT, type CallCost, matchingCost } from "./sizes.ts"

/** Costs of Kubernetes' functions, by their names. Source: apiserver pkg/cel/library/cost.go CallCost. */

/** The cost of an authorization check. Three exceed what one expression may cost. */
export const AUTHORIZATION_CHECK = 350_000

/** Functions that only read a value. */
export const NOMINAL = new Set(
  (
    "serviceAccount path group resource subresource namespace name allowed reason error errored masked prefixLength " +
    "family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named sign " +
    "asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch getScheme " +
    "getHostname getHost getPort getEscapedPath getQuery"
  ).split(" "),
)
const ONE_PASS = new Set(
  "url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR ip quantity isQuantity semver isSemver".split(
    " ",
  ),
)
const TRAVERSALS = new Set("isSorted sum max min indexOf lastIndexOf".split(" "))

/** Returns the elements of a container. */
function* itemsOf(value: ListValue | MapValue | StructValue): Iterable<Value> {
  if (value instanceof ListValue) yield* value
  else if (value instanceof MapValue)
    for (const key of value.keys()) {
      yield key
      yield value.find(key)!
    }
  else
    for (const name of value.fieldNames()) {
      yield name
      yield value.get(name)
    }
}

/** Returns the cost of one pass over a value and all that it contains. */
function traversal(value: Value): number {
  if (typeof value === "string") return Math.trunc(Buffer.byteLength(value) * TEXT)
  if (value instanceof Uint8Array) return Math.trunc(value.length * TEXT)
  if (!(value instanceof ListValue || value instanceof MapValue || value instanceof StructValue)) return 1
  let cost = 0
  for (const item of itemsOf(value)) {
    cost += traversal(item)
    affordable(cost)
  }
  return cost
}

const passes = (value: Value, count = 1): number => Math.ceil(sizeForCost(value) * count * TEXT)

const onePass: CallCost = ([value]) => passes(value!)
const twoPasses: CallCost = ([value]) => passes(value!, 2)

/** Returns the cost of parsing a selector, whose requirements are taken to have two characters each. */
function selector(size: number): number {
  return NEW_LIST + Math.ceil(size * TEXT) + Math.ceil(size * 0.5) * (NEW_LIST + NEW_STRUCT)
}

const contains = (overload: string, isText: boolean, extra: (size: number) => number): CallCost | undefined => {
  if (overload === "") return undefined
  return ([cidr, other]) => {
    const size = sizeForCost(cidr!)
    return Math.ceil(2 * size * TEXT) + extra(size) + (isText ? passes(other!) : 0)
  }
}

/** Returns the cost of a call of a Kubernetes function; undefined for other functions. */
export function KUBERNETES_COSTS(name: string, overload: string): CallCost | undefined {
  if (name === "ip" && overload === "cidr_ip") return 1
  if (NOMINAL.has(name)) return 1
  if (ONE_PASS.has(name)) return onePass
  if (TRAVERSALS.has(name)) return ([list]) => traversal(list!)
  switch (name) {
    case "check":
      return AUTHORIZATION_CHECK
    case "fieldSelector":
    case "labelSelector":
      return ([, text]) => selector(sizeForCost(text!))
    case "replace":
    case "split":
    case "ip.isCanonical":
      return twoPasses
    case "join":
      return (_args, result) => passes(result, 2)
    case "find":
    case "findAll":
      return ([text, pattern]) => matchingCost(text!, sizeForCost(pattern!))
    case "containsIP":
      return contains(overload, overload === "cidr_contains_ip_string", () => 0)
    case "containsCIDR":
      return contains(overload, overload === "cidr_contains_cidr_string", (size) => Math.ceil(size * TEXT) + 1)
    case "validate":
      return ([format, text]) => (format instanceof FormatValue ? matchingCost(text!, format.patternSize) : 1)
    default:
      return undefined
  }
}
