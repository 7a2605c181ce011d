import type { ValueType } from "../protobuf/message.ts"
import { WIRE } from "../protobuf/writer.ts"

/** An id of etcd: a random number of 64 bits, which JavaScript's `number` would round. */
export const exact: ValueType<bigint, bigint> = {
  wire: WIRE.varint,
  zero: 0n,
  isZero: (value) => value === 0n,
  write: (writer, value) => writer.uint64(value),
  read: (reader) => reader.uint64Exact(),
}
