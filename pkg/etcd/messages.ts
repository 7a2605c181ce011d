/**
 * The part of etcd's API that k3ts uses. Source: etcd api/etcdserverpb/rpc.proto, api/mvccpb/kv.proto; the numbers are
 * the same in 3.4, 3.5 and 3.6.
 */
import { field, message, repeated, type DecodedOf, type InitOf } from "../protobuf/message.ts"
import { service } from "../grpc/rpc.ts"
import { exact } from "./exact.ts"

const Header = message({ revision: field(3, "int64") })

const KeyValue = message({
  key: field(1, "bytes"),
  createRevision: field(2, "int64"),
  modRevision: field(3, "int64"),
  /** Number of writes since the key was created. */
  version: field(4, "int64"),
  value: field(5, "bytes"),
})

const RangeRequest = message({
  key: field(1, "bytes"),
  rangeEnd: field(2, "bytes"),
  limit: field(3, "int64"),
  revision: field(4, "int64"),
  keysOnly: field(8, "bool"),
})
const RangeResponse = message({ header: field(1, Header), kvs: repeated(2, KeyValue), more: field(3, "bool") })

const PutRequest = message({ key: field(1, "bytes"), value: field(2, "bytes"), lease: field(3, exact) })
const DeleteRangeRequest = message({ key: field(1, "bytes") })

/** The field that a comparison compares. k3ts always tests for equality. */
export const TARGET = { version: 0, mod: 2 } as const
const Compare = message({
  target: field(2, "int32"),
  key: field(3, "bytes"),
  version: field(4, "int64"),
  modRevision: field(6, "int64"),
})

const operations = { range: field(1, RangeRequest), put: field(2, PutRequest), delete: field(3, DeleteRangeRequest) }
/** A transaction inside another one. The outer one succeeds even when the comparisons of the inner one fail. */
const InnerTxn = message({ compare: repeated(1, Compare), success: repeated(2, message(operations)) })
const TxnRequest = message({
  compare: repeated(1, Compare),
  success: repeated(2, message({ ...operations, txn: field(4, InnerTxn) })),
  failure: repeated(3, message(operations)),
})
const TxnResponse = message({
  header: field(1, Header),
  succeeded: field(2, "bool"),
  responses: repeated(
    3,
    message({ range: field(1, RangeResponse), txn: field(4, message({ succeeded: field(2, "bool") })) }),
  ),
})

const EVENT_DELETE = 1
const Event = message({ type: field(1, "int32"), kv: field(2, KeyValue) })
export const isDeletion = ({ type }: DecodedOf<typeof Event>): boolean => type === EVENT_DELETE

const WatchRequest = message({
  create: field(
    1,
    message({
      key: field(1, "bytes"),
      rangeEnd: field(2, "bytes"),
      startRevision: field(3, "int64"),
      /** Whether a long message may be sent in fragments. */
      fragment: field(8, "bool"),
    }),
  ),
})
const WatchResponse = message({
  header: field(1, Header),
  created: field(3, "bool"),
  canceled: field(4, "bool"),
  /**
   * Set when the watch was cancelled because its changes were compacted: the first revision whose changes still exist.
   */
  compactRevision: field(5, "int64"),
  cancelReason: field(6, "string"),
  /** Whether more fragments of the same message follow. */
  fragment: field(7, "bool"),
  events: repeated(11, Event),
})

const kv = service("etcdserverpb.KV")
export const RPC = {
  range: kv("Range", RangeRequest, RangeResponse),
  put: kv("Put", PutRequest, message({ header: field(1, Header) })),
  txn: kv("Txn", TxnRequest, TxnResponse),
  compact: kv(
    "Compact",
    message({ revision: field(1, "int64"), physical: field(2, "bool") }),
    message({ header: field(1, Header) }),
  ),
  grant: service("etcdserverpb.Lease")(
    "LeaseGrant",
    message({ ttlSeconds: field(1, "int64") }),
    message({ id: field(2, exact) }),
  ),
  watch: service("etcdserverpb.Watch")("Watch", WatchRequest, WatchResponse),
}

export type Txn = InitOf<typeof TxnRequest>
export type TxnResult = DecodedOf<typeof TxnResponse>
export type EtcdEvent = DecodedOf<typeof Event>
export type EtcdKeyValue = DecodedOf<typeof KeyValue>
export type WatchAnswer = DecodedOf<typeof WatchResponse>

/** Returns the end of the range of all keys that begin with `prefix`, which must not end with the byte 255. */
export function endOfPrefix(prefix: Uint8Array): Uint8Array {
  const end = prefix.slice()
  end[end.length - 1]! += 1
  return end
}
