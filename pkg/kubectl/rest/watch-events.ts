import type { Unstructured } from "./json.ts"
import { parseJson } from "./json.ts"

export interface WatchEvent {
  /** `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`. */
  readonly type: string
  readonly object: Unstructured
}

/** Yields the events of a watch, which are values of JSON in lines. A line that is cut off ends the watch. */
export async function* watchEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const part of body) {
    rest += decoder.decode(part, { stream: true })
    const lines = rest.split("\n")
    rest = lines.pop()!
    for (const line of lines) if (line.trim() !== "") yield parseJson(line) as WatchEvent
  }
}
