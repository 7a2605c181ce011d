import { encode, type Answer } from "dns-packet"
import { FLAG, RCODE, type Query } from "./query.ts"
import { HEADER_BYTES, layoutOf, lowerCase, TYPE, type RecordAt } from "./layout.ts"

/** A response whose records this server makes. */
export interface Reply {
  readonly rcode: number
  readonly authoritative: boolean
  readonly answers: readonly Answer[]
  readonly authorities: readonly Answer[]
  readonly additionals: readonly Answer[]
  /** The CoreDNS plugin that gives such responses, for the metrics. */
  readonly from: string
  /** Whether the same query gets the same response until an object of the cluster changes. */
  readonly isFixed: boolean
}

/** A compression pointer to the name in the question, which follows the header. Source: RFC 1035 4.1.4. */
const TO_QUESTION = Buffer.from([0xc0, HEADER_BYTES])
/**
 * An OPT record without options. It announces that this server takes messages of up to 1,232 bytes. Source: RFC 6891
 * 6.1.2.
 */
const OWN_OPTIONS = Buffer.from([0, 0, TYPE.OPT, 0x04, 0xd0, 0, 0, 0, 0, 0, 0])
const RCODE_IN_OPTIONS = 5

/**
 * Encodes the response to a query. Records that do not fit are left out; when answers are left out, the response is
 * marked as truncated, so that the client repeats the query over TCP.
 */
export function writeReply(query: Query, reply: Reply): Buffer {
  const options = query.hasEdns ? OWN_OPTIONS : Buffer.alloc(0)
  const parts = [query.message.subarray(0, query.questionEnd)]
  let room = query.limit - query.questionEnd - options.length
  const put = (records: readonly Answer[]): number => {
    let count = 0
    for (const record of records) {
      const bytes = encodeRecord(record, query)
      if (bytes.length > room) break
      room -= bytes.length
      parts.push(bytes)
      count++
    }
    return count
  }
  const answers = put(reply.answers)
  const isCut = answers < reply.answers.length
  const authorities = isCut ? 0 : put(reply.authorities)
  const additionals = isCut ? 0 : put(reply.additionals)
  const message = Buffer.concat([...parts, options])
  const flags =
    FLAG.response |
    (reply.authoritative ? FLAG.authoritative : 0) |
    (isCut ? FLAG.truncated : 0) |
    (query.flags & (FLAG.recursionDesired | FLAG.checkingDisabled)) |
    FLAG.recursionAvailable |
    (reply.rcode & 15)
  message.writeUInt16BE(flags, 2)
  writeCounts(message, answers, authorities, additionals + (query.hasEdns ? 1 : 0))
  return message
}

/**
 * Encodes the error response to a message that is not a valid query: a header with the code, the question where it
 * could be read (clients drop an answer to another question), and an OPT record if the code needs one.
 */
export function writeRefusal(message: Buffer, rcode: number): Buffer {
  const questionEnd =
    rcode === RCODE.refused || rcode === RCODE.badVersion ? layoutOf(message).questionEnd : HEADER_BYTES
  const header = Buffer.from(message.subarray(0, questionEnd))
  const flags = message.readUInt16BE(2)
  const kept = flags & (0b1111 << 11) & ~FLAG.response
  header.writeUInt16BE(FLAG.response | kept | (flags & FLAG.recursionDesired) | (rcode & 15), 2)
  header.writeUInt16BE(questionEnd > HEADER_BYTES ? 1 : 0, 4)
  writeCounts(header, 0, 0, 0)
  if (rcode <= 15) return header
  const options = Buffer.from(OWN_OPTIONS)
  options.writeUInt8(rcode >> 4, RCODE_IN_OPTIONS)
  header.writeUInt16BE(1, 10)
  return Buffer.concat([header, options])
}

/**
 * Returns the response to a query from the message of an upstream server: with the id and question of the query, TTLs
 * reduced by `age` seconds, and as many records as fit.
 */
export function passReply(query: Query, theirs: Buffer, age: number): Buffer {
  const { questionEnd, records } = layoutOf(theirs)
  const message = Buffer.from(theirs)
  query.message.copy(message, 0, 0, 2)
  query.message.copy(message, HEADER_BYTES, HEADER_BYTES, query.questionEnd)
  for (const { type, ttlAt } of records)
    if (type !== TYPE.OPT) message.writeUInt32BE(Math.max(0, message.readUInt32BE(ttlAt) - age), ttlAt)
  const recursion = query.flags & FLAG.recursionDesired
  message.writeUInt16BE((message.readUInt16BE(2) & ~FLAG.recursionDesired) | recursion | FLAG.recursionAvailable, 2)
  return message.length <= query.limit ? message : cut(message, questionEnd, records, query.limit)
}

/** Truncates a response: drops records from the end until it fits, but keeps the OPT record. */
function cut(message: Buffer, questionEnd: number, records: readonly RecordAt[], limit: number): Buffer {
  const options = records.find(({ type }) => type === TYPE.OPT)
  const room = limit - (options === undefined ? 0 : options.end - options.start)
  const kept = records.filter(({ section, end }) => section === "answer" && end <= room)
  const whole = message.subarray(0, kept.at(-1)?.end ?? questionEnd)
  const result = Buffer.concat([
    whole,
    ...(options === undefined ? [] : [message.subarray(options.start, options.end)]),
  ])
  result.writeUInt16BE(result.readUInt16BE(2) | FLAG.truncated, 2)
  writeCounts(result, kept.length, 0, options === undefined ? 0 : 1)
  return result
}

/** Returns a reply without records. */
export const failure = (rcode: number, from: string): Reply => ({
  rcode,
  authoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
  from,
  isFixed: false,
})
export const serverFailure = (from: string): Reply => failure(RCODE.serverFailure, from)

function encodeRecord(record: Answer, query: Query): Buffer {
  if (lowerCase(record.name) !== query.name) return encode({ answers: [record] }).subarray(HEADER_BYTES)
  // The root as the name is one byte. The name of the question may have escapes, which `encode` does not know.
  return Buffer.concat([TO_QUESTION, encode({ answers: [{ ...record, name: "." }] }).subarray(HEADER_BYTES + 1)])
}

function writeCounts(message: Buffer, answers: number, authorities: number, additionals: number): void {
  message.writeUInt16BE(answers, 6)
  message.writeUInt16BE(authorities, 8)
  message.writeUInt16BE(additionals, 10)
}
