import type { Sent, WatchLine } from "./api.ts"
import type { ObjectHistory, Selector, Step } from "./history.ts"
import { stateOf, type WatchedKind } from "./kinds.ts"
import type { Listed, Session, Watcher } from "./watchers.ts"

const END_OF_INITIAL = "k8s.io/initial-events-end"

/**
 * Whether two objects are equal, apart from the type, which items of lists lack, and the revision, which is checked
 * elsewhere.
 */
function sameObject(told: Sent, step: Step, kind: WatchedKind, metadataOnly: boolean): boolean {
  if (step.unseen) return Bun.deepEquals(stateOf(kind, told).n, stateOf(kind, step.object).n)
  const plain = ({ apiVersion: _, kind: _kind, ...object }: Sent) => {
    const metadata = { ...object.metadata, resourceVersion: "" }
    return metadataOnly ? { metadata } : { ...object, metadata }
  }
  return Bun.deepEquals(plain(told), plain(step.object))
}

const keyOf = (kind: WatchedKind, { metadata }: Sent): string => `${kind.plural}/${metadata.namespace}/${metadata.name}`
const revisionOf = ({ object }: WatchLine): number => Number(object.metadata.resourceVersion)
const show = (type: string, revision: number | undefined, object: Sent, kind: WatchedKind) =>
  `${type}@${revision} n=${stateOf(kind, object).n}`

/** Records the revisions of deletions, from the events of watchers without a selector. */
export function dateDeletions(histories: ReadonlyMap<string, ObjectHistory>, watchers: readonly Watcher[]): string[] {
  const wrong: string[] = []
  for (const { options, sessions } of watchers)
    for (const line of sessions.flatMap(({ lines }) => lines))
      if (line.type === "DELETED" || line.type === "MODIFIED") {
        const history = histories.get(keyOf(options.kind, line.object))
        const fault = history === undefined ? "is not known" : history.date(line.type, revisionOf(line))
        if (fault !== undefined) wrong.push(`${keyOf(options.kind, line.object)} ${fault}`)
      }
  return wrong
}

/** Returns how the events of a watcher contradict the answers to the writes. */
export function faultsOf(watcher: Watcher, histories: readonly ObjectHistory[]): string[] {
  const { kind, selector, metadataOnly } = watcher.options
  const own = histories.filter((history) => history.kind === kind && history.key.startsWith(prefixOf(kind, selector)))
  const steps = new Map(own.map((history) => [history.key, history.steps(selector)]))
  return [
    ...watcher.wrong,
    ...watcher.lists.flatMap((list) => listFaults(list, kind, selector, own)),
    ...watcher.sessions
      .flatMap((session) => [
        ...orderFaults(session),
        ...initialFaults(session, kind, selector, own),
        ...own.flatMap(({ key }) => objectFaults(session, kind, key, steps.get(key)!, metadataOnly)),
      ])
      .map((fault) => `${pathText(kind, selector)}: ${fault}`),
  ]
}

const prefixOf = (kind: WatchedKind, { namespace }: Selector): string =>
  namespace === undefined ? `${kind.plural}/` : `${kind.plural}/${namespace}/`
const pathText = (kind: WatchedKind, { namespace = "*", query }: Selector) => `${kind.plural} in ${namespace}, ${query}`

/** Returns the index of the first line after the initial objects; 0 if there are none. */
function endOfInitial({ lines, initialEvents }: Session): number {
  if (!initialEvents) return 0
  const end = lines.findIndex(({ object }) => object.metadata.annotations?.[END_OF_INITIAL] === "true")
  return end < 0 ? lines.length : end
}

/** Checks that revisions rise, those of bookmarks included. The initial objects may be in any order. */
function orderFaults(session: Session): string[] {
  const { after, initialEvents, lines } = session
  const faults: string[] = []
  let last = after ?? 0
  for (const line of lines.slice(endOfInitial(session))) {
    const revision = revisionOf(line)
    const bookmark = line.type === "BOOKMARK"
    if (!initialEvents && after === undefined) continue
    if (bookmark ? revision < last : revision <= last) faults.push(`${line.type} ${revision} came after ${last}`)
    last = revision
  }
  return faults
}

/** Checks that the initial objects are exactly those that existed at the bookmark's revision. */
function initialFaults(
  session: Session,
  kind: WatchedKind,
  selector: Selector,
  own: readonly ObjectHistory[],
): string[] {
  const { lines, initialEvents } = session
  const end = endOfInitial(session)
  if (!initialEvents || end === lines.length) return []
  const initial = lines.slice(0, end)
  const others = initial.filter(({ type }) => type !== "ADDED").map(({ type }) => `${type} among the initial objects`)
  const items = initial.map(({ object }) => object)
  return [
    ...others,
    ...listFaults(
      { query: `of the start of ${pathText(kind, selector)}`, revision: revisionOf(lines[end]!), items },
      kind,
      selector,
      own,
    ),
  ]
}

function listFaults(
  { query, revision, items }: Listed,
  kind: WatchedKind,
  selector: Selector,
  own: readonly ObjectHistory[],
) {
  const listed = new Map(items.map((item) => [keyOf(kind, item), item]))
  return own.flatMap((history) => {
    const at = history.at(revision)
    if (at === "unknown") return []
    const matches = at?.object !== undefined && selector.matches(at.object, stateOf(kind, at.object))
    const [is, should] = [Number(listed.get(history.key)?.metadata.resourceVersion ?? 0), matches ? at.revision : 0]
    if (is === should) return []
    return [`list ${query} at ${revision}: ${history.key} is ${is}, not ${should}`]
  })
}

/** Checks that the events of one object are its versions in order, from the start of the session to its last event. */
function objectFaults(session: Session, kind: WatchedKind, key: string, all: readonly Step[], metadataOnly: boolean) {
  const { after, initialEvents, lines } = session
  const end = Math.max(after ?? 0, ...lines.map(revisionOf))
  const initialEnd = endOfInitial(session)
  let told = lines.slice(initialEnd).filter(({ type, object }) => type !== "BOOKMARK" && keyOf(kind, object) === key)
  let start = after ?? (initialEvents && initialEnd < lines.length ? revisionOf(lines[initialEnd]!) : undefined)
  if (initialEvents && start === undefined) return []
  if (start === undefined) {
    // The watch began at any revision: its first event is the state at that time.
    const first = told[0]
    if (first === undefined) return []
    start = revisionOf(first)
    if (!all.some(({ revision }) => revision === start)) return [`${key} began at ${start}, which it never was`]
    told = told.slice(1)
  }
  // A deletion that no watcher has received has no revision. It was not later than a version that one has received.
  const wanted = all.filter(({ revision }) => revision !== undefined && revision > start && revision <= end)
  const same =
    wanted.length === told.length &&
    wanted.every((step, i) => {
      const { type, object } = told[i]!
      return (
        type === step.type && revisionOf(told[i]!) === step.revision && sameObject(object, step, kind, metadataOnly)
      )
    })
  if (same) return []
  const [is, should] = [
    told.map((line) => show(line.type, revisionOf(line), line.object, kind)),
    wanted.map((step) => show(step.type, step.revision, step.object, kind)),
  ]
  return [`${key} after ${start} up to ${end} was\n    ${is.join(", ")}\n  not\n    ${should.join(", ")}`]
}
