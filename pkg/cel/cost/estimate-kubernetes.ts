import type { CelType } from "../type.ts"
import { sizeOrUnknown, type CallEstimate, type EstimatedNode, type SizeOf } from "./estimated-node.ts"
import { matching } from "./estimate-standard.ts"
import { BOUNDLESS, exactly, plus, scaled, times, UNKNOWN, type Range } from "./range.ts"
import { AUTHORIZATION_CHECK, NOMINAL } from "./runtime-kubernetes.ts"
import { NEW_LIST, NEW_STRUCT, PATTERN, TEXT } from "./sizes.ts"

/** Estimates for Kubernetes' functions, by their names. Source: apiserver pkg/cel/library/cost.go EstimateCallCost. */

const ONE: CallEstimate = { cost: exactly(1) }
/** The size of an address: 4 or 16 bytes. */
const ADDRESS: Range = { min: 4, max: 16 }
/** The longest pattern of a named format. Source: apiserver pkg/cel/limits.go. */
const LONGEST_FORMAT = 128

const PARSERS = new Set("cidr isIP isCIDR ip quantity isQuantity semver isSemver".split(" "))
const SCANS = new Set("isSorted sum max min indexOf lastIndexOf".split(" "))
const SINGLE = new Set(
  "kubernetes.Quantity kubernetes.Semver net.IP net.CIDR kubernetes.authorization.Authorizer kubernetes.authorization.PathCheck kubernetes.authorization.GroupCheck kubernetes.authorization.ResourceCheck kubernetes.authorization.Decision".split(
    " ",
  ),
)

export function estimateKubernetesCall(
  name: string,
  id: string,
  target: EstimatedNode | undefined,
  args: readonly EstimatedNode[],
  sizeOf: SizeOf,
): CallEstimate | undefined {
  if (name === "check") return { cost: exactly(AUTHORIZATION_CHECK) }
  if (NOMINAL.has(name) || id === "cidr_ip") return ONE
  const [first, second] = args.map(sizeOrUnknown)
  if (PARSERS.has(name)) return { cost: scaled(first!, TEXT) }
  const size = target === undefined ? UNKNOWN : sizeOrUnknown(target)
  if (SCANS.has(name)) return target && scan(target, sizeOf)
  switch (name) {
    case "fieldSelector":
    case "labelSelector":
      return { cost: selector(first!) }
    case "url":
    case "jsonpatch.escapeKey":
      return { cost: scaled(first!, TEXT), resultSize: first! }
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
      return { cost: scaled(size, TEXT), resultSize: size }
    case "replace":
      return { cost: scaled(size, 2 * TEXT), resultSize: replaced(size, first!, second!) }
    case "split":
      return { cost: scaled(size, 2 * TEXT), resultSize: { min: 0, max: mostPieces(size, args[1]) } }
    case "join":
      return join(target!, args[0], sizeOf)
    case "find":
    case "findAll":
      return { cost: matching(size, first!), resultSize: { min: 0, max: size.max } }
    case "ip.isCanonical":
      return { cost: scaled(first!, 2 * TEXT) }
    case "containsIP":
      return { cost: contained(id === "cidr_contains_ip_string" ? first! : undefined) }
    case "containsCIDR": {
      const cost = contained(id === "cidr_contains_cidr_string" ? first! : undefined)
      return { cost: plus(plus(cost, scaled(ADDRESS, TEXT)), exactly(1)) }
    }
    case "validate":
      return { cost: scaled(scaled(first!, TEXT), LONGEST_FORMAT * PATTERN) }
    case "_==_":
      return equality(args[0]!.type, args[1]!)
    default:
      return undefined
  }
}

/** Returns the cost of functions that read every item of a list, or every character of a string. */
function scan(target: EstimatedNode, sizeOf: SizeOf): CallEstimate {
  const size = sizeOrUnknown(target)
  const item = itemOf(target, sizeOf)
  if (item === undefined) return { cost: scaled(size, TEXT) }
  const isText = item.type.kind === "string" || item.type.kind === "bytes"
  const each = isText ? plus(exactly(1), scaled(sizeOrUnknown(item), TEXT)) : exactly(1)
  return { cost: times(size, each) }
}

function itemOf({ type, path }: EstimatedNode, sizeOf: SizeOf): EstimatedNode | undefined {
  const [item] = type.params
  if (item === undefined) return undefined
  const itemPath = path.length === 0 ? [] : [...path, "@items"]
  return { type: item, path: itemPath, size: itemPath.length === 0 ? undefined : sizeOf(itemPath) }
}

function selector(length: Range): Range {
  const requirements = scaled(scaled(length, 0.5), NEW_LIST + NEW_STRUCT)
  return plus(plus(exactly(NEW_LIST), scaled(length, TEXT)), requirements)
}

/** Returns the shortest and longest length of a string after a replacement. */
function replaced(size: Range, old: Range, by: Range): Range {
  const kept = { min: 0, max: 0 }
  const count = { min: 0, max: 0 }
  if (old.min === 0) {
    count.max = Math.min(size.max + 1, BOUNDLESS)
    kept.max = size.max
  } else if (by.max <= old.min) kept.max = size.max
  else count.max = Math.ceil(size.max / old.min)
  if (old.max === 0) {
    count.min = Math.min(size.min + 1, BOUNDLESS)
    kept.min = size.min
  } else if (old.max <= by.min) kept.min = size.min
  else count.min = Math.ceil(size.min / old.max)
  return plus(times(count, by), kept)
}

function mostPieces(size: Range, limit: EstimatedNode | undefined): number {
  const value = limit?.expr?.kind === "literal" ? limit.expr.value : undefined
  if (typeof value !== "number" && typeof value !== "bigint") return size.max
  return value < 0 ? BOUNDLESS : Number(value)
}

function join(target: EstimatedNode, separator: EstimatedNode | undefined, sizeOf: SizeOf): CallEstimate {
  const count = sizeOrUnknown(target)
  const item = itemOf(target, sizeOf)
  let size = item === undefined ? exactly(0) : times(count, sizeOrUnknown(item))
  if (separator !== undefined) {
    const between = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) }
    size = plus(size, times(sizeOrUnknown(separator), between))
  }
  return { cost: scaled(size, TEXT), resultSize: size }
}

/** Returns the cost of comparing an address with a network; an address given as a string is parsed first. */
function contained(text: Range | undefined): Range {
  const compared = scaled(plus(ADDRESS, ADDRESS), TEXT)
  return text === undefined ? compared : plus(compared, scaled(text, TEXT))
}

function equality(a: CelType, { type: b, size }: EstimatedNode): CallEstimate | undefined {
  if (a.name !== b.name) return undefined
  if (a.name === "kubernetes.URL") return { cost: scaled({ min: 1, max: size?.max ?? 1 }, TEXT) }
  if (a.name === "kubernetes.NamedFormat") return { cost: scaled({ min: 1, max: 64 }, TEXT) }
  return SINGLE.has(a.name) ? ONE : undefined
}
