/**
 * Adds and removes elements of nftables sets, for sockets of NETLINK_NETFILTER: `nft` takes ten milliseconds for it,
 * the kernel alone one. Source: linux/netfilter/nfnetlink.h, nf_tables.h; nf_tables_api.c.
 */
import { ACK, attribute, CREATE, message, nested, REQUEST } from "./message.ts"

/** The protocol of the sockets. */
export const NETLINK_NETFILTER = 12
/** The number of the family that nft calls `bridge`. */
export const FAMILY_BRIDGE = 7

const [BATCH_BEGIN, BATCH_END] = [0x10, 0x11]
const NFTABLES = 10
const [NEW_ELEMENT, DELETE_ELEMENT] = [(NFTABLES << 8) | 12, (NFTABLES << 8) | 14]
const LIST = { table: 1, set: 2, elements: 3 } as const
const [LIST_ELEMENT, ELEMENT_KEY, DATA_VALUE] = [1, 1, 1]

export interface SetElement {
  readonly set: string
  /** The parts of the key. The kernel pads each to four bytes. */
  readonly key: readonly Uint8Array[]
}

/** The table that holds the sets. */
export interface Table {
  /** The number of the family. */
  readonly family: number
  readonly name: string
}

/** Returns the messages that add elements in one transaction. Elements that exist stay. */
export const addElements = (table: Table, elements: readonly SetElement[]): readonly Buffer[] =>
  transaction(elements.map((element) => change(NEW_ELEMENT, CREATE, table, element)))

/**
 * Returns the messages that remove elements in one transaction. Each element is added first: the kernel refuses to
 * remove an element that does not exist, and then refuses the whole transaction.
 */
export const removeElements = (table: Table, elements: readonly SetElement[]): readonly Buffer[] =>
  transaction(
    elements.flatMap((element) => [
      change(NEW_ELEMENT, CREATE, table, element),
      change(DELETE_ELEMENT, 0, table, element),
    ]),
  )

const transaction = (changes: readonly Buffer[]): readonly Buffer[] => [
  message(BATCH_BEGIN, REQUEST, familyHeader(0, NFTABLES)),
  ...changes,
  message(BATCH_END, REQUEST, familyHeader(0, NFTABLES)),
]

const change = (type: number, flags: number, { family, name }: Table, { set, key }: SetElement): Buffer =>
  message(
    type,
    REQUEST | ACK | flags,
    familyHeader(family, 0),
    attribute(LIST.table, name),
    attribute(LIST.set, set),
    nested(
      LIST.elements,
      nested(LIST_ELEMENT, nested(ELEMENT_KEY, attribute(DATA_VALUE, Buffer.concat(key.map(padded))))),
    ),
  )

/** `struct nfgenmsg`: family, version, and a number in network byte order. */
const familyHeader = (family: number, resource: number): Buffer => Buffer.from([family, 0, resource >> 8, resource])

function padded(part: Uint8Array): Buffer {
  const bytes = Buffer.alloc((part.length + 3) & ~3)
  bytes.set(part)
  return bytes
}

const INTERFACE_NAME = 16

/** Returns an interface's name as part of a key. */
export function interfaceKey(name: string): Buffer {
  const bytes = Buffer.alloc(INTERFACE_NAME)
  bytes.write(name)
  return bytes
}
