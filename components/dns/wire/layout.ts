/** The record types that have a name in code and metrics. Source: IANA, DNS parameters. */
export const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [1, "A"],
  [2, "NS"],
  [5, "CNAME"],
  [6, "SOA"],
  [12, "PTR"],
  [15, "MX"],
  [16, "TXT"],
  [28, "AAAA"],
  [33, "SRV"],
  [35, "NAPTR"],
  [41, "OPT"],
  [43, "DS"],
  [46, "RRSIG"],
  [47, "NSEC"],
  [48, "DNSKEY"],
  [64, "SVCB"],
  [65, "HTTPS"],
  [255, "ANY"],
])
export const TYPE = { SOA: 6, OPT: 41 } as const
export const HEADER_BYTES = 12
/** Source: RFC 1035 3.1. */
const LONGEST_NAME = 255

/**
 * One record of a message. Positions are in bytes from the start of the message; `end` is the position after the
 * record.
 */
export interface RecordAt {
  readonly section: "answer" | "authority" | "additional"
  readonly type: number
  readonly start: number
  readonly ttlAt: number
  readonly dataAt: number
  readonly end: number
}

/** The question of a message, and the positions of its records. */
export interface Layout {
  /**
   * In lower case, without a dot at the end; empty for the root. A dot inside of a label is written `\046`, and a
   * backslash `\092`, so that every dot stands between two labels (RFC 1035, 5.1).
   */
  readonly name: string
  readonly type: number
  readonly class: number
  /** The position after the question section. */
  readonly questionEnd: number
  readonly records: readonly RecordAt[]
}

/**
 * Finds the parts of a message with one question. Record data is not decoded, so that an answer can be passed on
 * unchanged. Source: RFC 1035 4.1.
 * @throws RangeError when the message is incomplete or malformed, or does not have exactly one question
 */
export function layoutOf(message: Buffer): Layout {
  if (message.readUInt16BE(4) !== 1) throw new RangeError("the message does not have exactly one question")
  const { name, end } = readName(message, HEADER_BYTES)
  const type = message.readUInt16BE(end)
  const questionClass = message.readUInt16BE(end + 2)
  const records: RecordAt[] = []
  let at = end + 4
  for (const [section, countAt] of [
    ["answer", 6],
    ["authority", 8],
    ["additional", 10],
  ] as const) {
    for (let left = message.readUInt16BE(countAt); left > 0; left--) {
      const ownerEnd = skipName(message, at)
      const dataAt = ownerEnd + 10
      const recordEnd = dataAt + message.readUInt16BE(ownerEnd + 8)
      if (recordEnd > message.length) throw new RangeError("a record is cut off")
      records.push({
        section,
        type: message.readUInt16BE(ownerEnd),
        start: at,
        ttlAt: ownerEnd + 4,
        dataAt,
        end: recordEnd,
      })
      at = recordEnd
    }
  }
  return { name, type, class: questionClass, questionEnd: end + 4, records }
}

/** Reads the name of the question. It cannot be compressed, since no name stands before it. */
function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = start
  for (;;) {
    const length = message.readUInt8(at)
    if (length === 0) break
    if (length > 63 || at + 1 + length >= message.length || at - start > LONGEST_NAME)
      throw new RangeError("the name of the question is malformed")
    labels.push(escaped(message.toString("latin1", at + 1, at + 1 + length)))
    at += 1 + length
  }
  return { name: lowerCase(labels.join(".")), end: at + 1 }
}

/** Changes ASCII letters only: other bytes of a name have no case (RFC 4343). */
export const lowerCase = (name: string): string => name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())

const escaped = (label: string): string =>
  /[.\\]/.test(label) ? label.replaceAll("\\", "\\092").replaceAll(".", "\\046") : label
/** Returns the bytes of a label of a name, as latin1. */
export const unescaped = (label: string): string =>
  label.replaceAll(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number(code)))

/** Returns the position after a name, which may end in a compression pointer. */
function skipName(message: Buffer, start: number): number {
  let at = start
  for (;;) {
    const length = message.readUInt8(at)
    if (length === 0) return at + 1
    if (length >= 0xc0) return at + 2
    if (length > 63) throw new RangeError("a name is malformed")
    at += 1 + length
  }
}
