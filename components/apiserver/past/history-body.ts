import { Buffer } from "node:buffer"
import type { LogPage } from "../../../pkg/history/entry.ts"
import type { Parts } from "../codec/list-bytes.ts"

/** Characters of a piece, of which one entry may be more. */
const PIECE_CHARACTERS = 256 * 1024

/**
 * Returns the body of a history in pieces, each of which a turn of the event loop makes. `entries` are JSON; indented,
 * the body is what `JSON.stringify` makes of the whole.
 */
export function historyBody(
  page: Omit<LogPage, "entries">,
  entries: readonly string[],
  { indented }: { readonly indented: boolean },
): Parts {
  return {
    length: undefined,
    pieces: () => (indented ? piecesOf(INDENTED, page, entries) : piecesOf(PLAIN, page, entries)),
  }
}

interface Form {
  begin(page: Omit<LogPage, "entries">): string
  entry(json: string, isFirst: boolean): string
  end(isEmpty: boolean): string
}

const PLAIN: Form = {
  begin: (page) => `${JSON.stringify(page).slice(0, -1)},"entries":[`,
  entry: (json, isFirst) => (isFirst ? json : `,${json}`),
  end: () => "]}\n",
}

const INDENTED: Form = {
  begin: (page) => `${JSON.stringify(page, undefined, 2).slice(0, -2)},\n  "entries": [`,
  entry(json, isFirst) {
    const text = JSON.stringify(JSON.parse(json), undefined, 2).replaceAll("\n", "\n    ")
    return `${isFirst ? "" : ","}\n    ${text}`
  },
  end: (isEmpty) => (isEmpty ? "]\n}\n" : "\n  ]\n}\n"),
}

function* piecesOf(form: Form, page: Omit<LogPage, "entries">, entries: readonly string[]): Generator<Buffer> {
  let piece = form.begin(page)
  for (const [index, json] of entries.entries()) {
    piece += form.entry(json, index === 0)
    if (piece.length < PIECE_CHARACTERS) continue
    yield Buffer.from(piece)
    piece = ""
  }
  yield Buffer.from(piece + form.end(entries.length === 0))
}
