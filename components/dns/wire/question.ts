import { HEADER_BYTES, TYPE, unescaped } from "./layout.ts"
import { FLAG, type Query } from "./query.ts"

const AUTHENTIC_DATA = 1 << 5

/** The question that is sent to an upstream server. */
export interface Question {
  /** In lower case, without a dot at the end. */
  readonly name: string
  /** The key of the cache: equal for questions that have the same answer. */
  readonly key: string
  /** The question as a DNS message with the id 0. */
  readonly message: Buffer
}

/**
 * Returns the question to forward for a query, for its own name or another one. EDNS options such as cookies are left
 * out: they concern only the client and this server.
 */
export function questionOf(query: Query, name = query.name): Question {
  const flags = query.flags & (FLAG.recursionDesired | FLAG.checkingDisabled | AUTHENTIC_DATA)
  const encoded = name === query.name ? query.message.subarray(HEADER_BYTES, query.questionEnd - 4) : encodeName(name)
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(flags, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(query.hasEdns ? 1 : 0, 10)
  const tail = Buffer.from([query.type >> 8, query.type & 255, 0, 1])
  const options = query.hasEdns
    ? Buffer.from([0, 0, TYPE.OPT, 0x04, 0xd0, 0, 0, query.dnssecOk ? 0x80 : 0, 0, 0, 0])
    : Buffer.alloc(0)
  return {
    name,
    key: `${name} ${query.type} ${flags} ${query.hasEdns} ${query.dnssecOk}`,
    message: Buffer.concat([header, encoded, tail, options]),
  }
}

function encodeName(name: string): Buffer {
  const labels = name === "" ? [] : name.split(".").map(unescaped)
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([Buffer.byteLength(label, "latin1")]), Buffer.from(label, "latin1")]),
    Buffer.from([0]),
  ])
}
