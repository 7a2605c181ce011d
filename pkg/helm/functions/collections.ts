import { ownValue, setKey } from "../../apimachinery/json/set-key.ts"
import { goTypeOf, isGoMap } from "../../go-fmt/go-number.ts"
import { failCall } from "../../go-template/function-error.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"
import { checkPairs } from "../limits.ts"
import {
  anyOf,
  deepCopy,
  dict,
  integer,
  isDeepEqual,
  isEmptyValue,
  list,
  text,
  textFrom,
  whole,
  type Dict,
} from "./convert.ts"

/** Merges maps into the first, whose own values count unless they are empty. Source of the rules: dario.cat/mergo. */
function merge(into: Dict, from: Dict): Dict {
  for (const [key, value] of Object.entries(from)) {
    const own = ownValue(into, key)
    if (value === null) continue
    if (isGoMap(value) && isGoMap(own)) merge(own as Dict, value as Dict)
    else if (isEmptyValue(own)) setKey(into, key, value)
  }
  return into
}

/** Merges maps into the first, whose values give way; an empty list replaces none that has items. */
function overwrite(into: Dict, from: Dict): Dict {
  for (const [key, value] of Object.entries(from)) {
    const own = ownValue(into, key)
    if (isGoMap(value) && isGoMap(own) && !isEmptyValue(own)) overwrite(own as Dict, value as Dict)
    else if (!(Array.isArray(value) && value.length === 0 && Array.isArray(own) && own.length > 0))
      setKey(into, key, value)
  }
  return into
}

const mergedBy = (step: typeof merge) =>
  anyOf((first, ...others) => others.reduce<Dict>((into, from) => step(into, dict(from)), dict(first)))

function dig(values: readonly unknown[]): unknown {
  if (values.length < 3) failCall("dig needs at least three arguments")
  const [otherwise, from] = values.slice(-2)
  let at: unknown = from
  for (const key of values.slice(0, -2)) {
    const map = dict(at)
    if (!Object.hasOwn(map, text(key))) return otherwise
    at = map[text(key)]
  }
  return at
}

const isIn = (all: readonly unknown[], one: unknown): boolean => all.some((each) => isDeepEqual(each, one))

function distinct(all: readonly unknown[]): readonly unknown[] {
  const seen: unknown[] = []
  for (const item of all) {
    checkPairs(all.length * seen.length)
    if (!isIn(seen, item)) seen.push(item)
  }
  return seen
}

function remaining(all: readonly unknown[], gone: readonly unknown[]): readonly unknown[] {
  checkPairs(all.length * gone.length)
  return all.filter((item) => !isIn(gone, item))
}

const named = (name: string, value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : failCall(`Cannot ${name} type ${goTypeOf(value)}`)

function chunked(size: number, all: readonly unknown[]): readonly unknown[] {
  if (size < 1) failCall("the size of a chunk must be at least 1")
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))
}

const push = anyOf((all, item) => [...named("push on", all), item])
const prepend = anyOf((all, item) => [item, ...named("prepend on", all)])
const first = anyOf((all) => named("find first on", all)[0] ?? null)
const rest = anyOf((all) => named("find rest on", all).slice(1))
const last = anyOf((all) => named("find last on", all).at(-1) ?? null)
const initial = anyOf((all) => named("find initial on", all).slice(0, -1))
const reverse = anyOf((all) => named("find reverse on", all).toReversed())
const compact = anyOf((all) => named("compact on", all).filter((item) => !isEmptyValue(item)))
const uniq = anyOf((all) => distinct(named("find uniq on", all)))
const without = anyOf((all, ...gone) => remaining(named("find without on", all), gone))
const has = anyOf((item, all) => all !== null && isIn(named("find has on", all), item))
const slice = anyOf((all, from, to) =>
  named("slice", all).slice(Number(integer(from ?? 0)), to === undefined ? undefined : Number(integer(to))),
)
const chunk = anyOf((size, all) => chunked(whole(size), named("chunk", all)))
const made = anyOf((...values) => values)
const copied = anyOf((value) => deepCopy(value))

/** Functions of lists and maps. Source of names and rules: Masterminds/sprig list.go, dict.go. */
export const COLLECTION_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  list: made,
  tuple: made,
  dict: anyOf((...pairs) => {
    const map: Dict = {}
    for (let i = 0; i < pairs.length; i += 2) setKey(map, textFrom(pairs[i]), i + 1 < pairs.length ? pairs[i + 1] : "")
    return map
  }),
  get: anyOf((map, key) => (Object.hasOwn(dict(map), text(key)) ? dict(map)[text(key)] : "")),
  set: anyOf((map, key, value) => {
    setKey(dict(map), text(key), value)
    return map
  }),
  unset: anyOf((map, key) => {
    delete dict(map)[text(key)]
    return map
  }),
  hasKey: anyOf((map, key) => Object.hasOwn(dict(map), text(key))),
  pluck: anyOf((key, ...maps) =>
    maps.flatMap((map) => (Object.hasOwn(dict(map), text(key)) ? [dict(map)[text(key)]] : [])),
  ),
  keys: anyOf((...maps) => maps.flatMap((map) => Object.keys(dict(map)))),
  values: anyOf((map) => Object.values(dict(map))),
  pick: anyOf((map, ...keys) =>
    Object.fromEntries(
      keys.flatMap((key) => (Object.hasOwn(dict(map), text(key)) ? [[key, dict(map)[text(key)]]] : [])),
    ),
  ),
  omit: anyOf((map, ...keys) => Object.fromEntries(Object.entries(dict(map)).filter(([key]) => !keys.includes(key)))),
  merge: mergedBy(merge),
  mustMerge: mergedBy(merge),
  mergeOverwrite: mergedBy(overwrite),
  mustMergeOverwrite: mergedBy(overwrite),
  dig: anyOf((...values) => dig(values)),
  deepCopy: copied,
  mustDeepCopy: copied,
  append: push,
  push,
  mustAppend: push,
  mustPush: push,
  prepend,
  mustPrepend: prepend,
  first,
  mustFirst: first,
  rest,
  mustRest: rest,
  last,
  mustLast: last,
  initial,
  mustInitial: initial,
  reverse,
  mustReverse: reverse,
  compact,
  mustCompact: compact,
  uniq,
  mustUniq: uniq,
  without,
  mustWithout: without,
  has,
  mustHas: has,
  slice,
  mustSlice: slice,
  chunk,
  mustChunk: chunk,
  concat: anyOf((...lists) => lists.flatMap((each) => list(each))),
}
