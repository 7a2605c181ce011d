import type { LogEntry, LogPage } from "../../../history/entry.ts"
import { largest } from "../../../lists/extremes.ts"
import { isForbidden } from "../../errors/status-error.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import { listPath, type RecordedKind } from "./kinds.ts"

/** The revisions that are asked for at once, at most and at first. */
const MOST_REVISIONS = 2000
/** The most entries that a server gives. */
const MOST_ENTRIES = 10_000

/** What the writes are read of. */
export interface PastSpan {
  readonly kinds: readonly RecordedKind[]
  /** Empty for all. */
  readonly namespaces: readonly string[]
  /** Revisions: after the first, up to the last. */
  readonly after: number
  readonly upTo: number
}

/**
 * Yields the writes of a span from the history of a server, oldest first: as many revisions at a time as fit into an
 * answer. The history of all kinds needs a right of its own; without it, each kind is asked for by itself.
 */
export async function* pastWrites(client: RestClient, span: PastSpan): AsyncGenerator<LogEntry> {
  const { after, upTo } = span
  let sources = ["/k3ts/history"]
  let [count, steady] = [MOST_REVISIONS, 0]
  for (let from = after; from < upTo;) {
    const to = Math.min(upTo, from + count)
    const pages: LogPage[] = []
    try {
      for (const source of sources) pages.push(await readPage(client, source, from, to))
    } catch (err) {
      if (!isForbidden(err) || sources.length !== 1) throw err
      sources = sourcesOf(span)
      continue
    }
    if (pages.some(({ more }) => more) && to - from > 1) {
      // Later spans are likely to have as much in them: no further answer should be thrown away.
      count = Math.max(1, Math.floor((to - oldestOf(pages, from)) * SPARE))
      steady = STEADY_ANSWERS
      continue
    }
    const entries = pages.flatMap((page) => page.entries).sort((a, b) => a.revision - b.revision)
    yield* entries
    from = to
    // Where nothing was written, any number of revisions is passed in a few steps.
    if (entries.length === 0) count *= 2
    else if (steady-- <= 0) count = Math.min(MOST_REVISIONS, count * 2)
  }
}

/** The part of what fitted into an answer that is asked for next, and for how many answers. Then more is tried. */
const SPARE = 0.8
const STEADY_ANSWERS = 10

/** Returns the revision after which all that was asked for has come: answers that are full have the newest writes. */
const oldestOf = (pages: readonly LogPage[], from: number): number =>
  largest(pages.map(({ more, entries }) => (more ? (entries[0]?.revision ?? from) : from)))

const sourcesOf = ({ kinds, namespaces }: PastSpan): string[] =>
  kinds.flatMap((kind) =>
    (kind.namespaced && namespaces.length > 0 ? namespaces : [""]).map(
      (each) => `/k3ts/history${listPath(kind, each)}`,
    ),
  )

/** Of each write the state after it, and neither that before nor what has changed. */
const STATES = { objects: "true", previous: "false" }

async function readPage(client: RestClient, path: string, after: number, upTo: number): Promise<LogPage> {
  const query = { since: String(after), until: String(upTo), limit: String(MOST_ENTRIES), ...STATES }
  return (await client.object({ method: "GET", path, query })) as unknown as LogPage
}
