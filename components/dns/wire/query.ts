import { HEADER_BYTES, layoutOf, TYPE, TYPE_NAMES } from "./layout.ts"

/** Bits of a message's flags. Source: RFC 1035 4.1.1; RFC 4035 3. */
export const FLAG = {
  response: 1 << 15,
  authoritative: 1 << 10,
  truncated: 1 << 9,
  recursionDesired: 1 << 8,
  recursionAvailable: 1 << 7,
  checkingDisabled: 1 << 4,
} as const
const OPCODE = 0b1111 << 11

/** Source: RFC 1035 4.1.1; RFC 6891 9. */
export const RCODE = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
  badVersion: 16,
} as const

/**
 * The largest UDP response in bytes, to clients without EDNS, and to clients with EDNS whatever size they announce.
 * Sources: RFC 1035 4.2.1, DNS flag day 2020.
 */
const PLAIN_UDP = 512
const LARGEST_UDP = 1232
const LARGEST_TCP = 65_535
const CLASS_IN = 1

export interface Client {
  readonly address: string
  readonly protocol: "udp" | "tcp"
}

/** A query of a client. */
export interface Query {
  readonly message: Buffer
  readonly flags: number
  /** In lower case, without a dot at the end; empty for the root. */
  readonly name: string
  readonly type: number
  /** Where the question ends in `message`. */
  readonly questionEnd: number
  readonly hasEdns: boolean
  /** Whether the client wants DNSSEC records. */
  readonly dnssecOk: boolean
  /** The largest response for this client, in bytes. */
  readonly limit: number
  readonly client: Client
}

/**
 * Reads a client's message. Returns the RCODE of an error response when the query cannot be answered, and undefined
 * when the message gets no response because it is not a query.
 */
export function readQuery(message: Buffer, client: Client): Query | number | undefined {
  if (message.length < HEADER_BYTES) return undefined
  const flags = message.readUInt16BE(2)
  if ((flags & FLAG.response) !== 0) return undefined
  if ((flags & OPCODE) !== 0) return RCODE.notImplemented
  let layout
  try {
    layout = layoutOf(message)
  } catch (err) {
    if (err instanceof RangeError) return RCODE.formatError
    throw err
  }
  const options = layout.records.filter(({ type }) => type === TYPE.OPT)
  if (options.length > 1 || layout.records.some(({ section }) => section !== "additional")) return RCODE.formatError
  const [edns] = options
  if (edns !== undefined && message.readUInt8(edns.ttlAt + 1) !== 0) return RCODE.badVersion
  if (layout.class !== CLASS_IN) return RCODE.refused
  const taken = edns === undefined ? PLAIN_UDP : message.readUInt16BE(edns.ttlAt - 2)
  return {
    message,
    flags,
    name: layout.name,
    type: layout.type,
    questionEnd: layout.questionEnd,
    hasEdns: edns !== undefined,
    dnssecOk: edns !== undefined && (message.readUInt8(edns.ttlAt + 2) & 0x80) !== 0,
    limit: client.protocol === "tcp" ? LARGEST_TCP : Math.min(LARGEST_UDP, Math.max(PLAIN_UDP, taken)),
    client,
  }
}

/** Returns the name of a record type; undefined for types without a name here. */
export const typeName = ({ type }: Pick<Query, "type">): string | undefined => TYPE_NAMES.get(type)
