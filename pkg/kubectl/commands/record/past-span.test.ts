import { expect, test } from "bun:test"
import type { LogEntry, LogPage } from "../../../history/entry.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import { pastWrites } from "./past-span.ts"

/** A server with a log, of which so many entries fit into an answer. */
function serverOf(log: readonly number[], fit: number) {
  const asked: string[] = []
  const client = {
    object({ query = {} }: { readonly query?: Readonly<Record<string, string>> }) {
      const [since, until] = [Number(query["since"]), Number(query["until"])]
      const all = log.filter((revision) => revision > since && revision <= until)
      const entries = all.slice(Math.max(0, all.length - fit)).map((revision) => ({ revision }) as LogEntry)
      asked.push(`${since}-${until}`)
      return Promise.resolve({ begins: 0, revision: 0, more: entries.length < all.length, entries } satisfies LogPage)
    },
  } as unknown as RestClient
  return { client, asked }
}

const range = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, i) => from + i + 1)

async function read(log: readonly number[], fit: number, upTo: number) {
  const { client, asked } = serverOf(log, fit)
  const found: number[] = []
  for await (const { revision } of pastWrites(client, { kinds: [], namespaces: [], after: 0, upTo }))
    found.push(revision)
  return { found, asked: asked.length }
}

test.each<[string, readonly number[], number, number, number]>([
  ["small objects, in the fewest answers", range(0, 6000), 10_000, 6000, 3],
  // 150 answers would have all that there is.
  ["large objects, with few answers that are thrown away", range(0, 6000), 40, 6000, 220],
  ["objects of which only one fits", range(0, 60), 1, 60, 70],
  ["a revision that is far behind the last write", range(0, 100), 10_000, Number.MAX_SAFE_INTEGER, 60],
])("the writes of a span are read, in order: %s", async (_, log, fit, upTo, most) => {
  const { found, asked } = await read(log, fit, upTo)
  expect(found).toEqual([...log])
  expect(asked).toBeLessThanOrEqual(most)
})
