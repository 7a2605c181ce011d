/** The members of an etcd cluster. Source: etcd api/etcdserverpb/rpc.proto, services Cluster and Maintenance. */
import { service } from "../grpc/rpc.ts"
import { field, message, repeated, type DecodedOf } from "../protobuf/message.ts"
import { EtcdError, type EtcdConnection } from "./connection.ts"
import { exact } from "./exact.ts"

const Member = message({
  id: field(1, exact),
  /** Empty until the member has run. */
  name: field(2, "string"),
  peerURLs: repeated(3, "string"),
  clientURLs: repeated(4, "string"),
  /** Whether the member has no vote. */
  isLearner: field(5, "bool"),
})
export type EtcdMember = DecodedOf<typeof Member>

const ById = message({ id: field(1, exact) })
const Members = message({ members: repeated(2, Member) })
const AddedMember = message({ member: field(2, Member), members: repeated(3, Member) })

const cluster = service("etcdserverpb.Cluster")
const maintenance = service("etcdserverpb.Maintenance")
const RPC = {
  add: cluster("MemberAdd", message({ peerURLs: repeated(1, "string"), isLearner: field(2, "bool") }), AddedMember),
  remove: cluster("MemberRemove", ById, Members),
  update: cluster("MemberUpdate", message({ id: field(1, exact), peerURLs: repeated(2, "string") }), Members),
  list: cluster("MemberList", message({}), Members),
  promote: cluster("MemberPromote", ById, Members),
  status: maintenance("Status", message({}), message({ leader: field(4, exact) })),
  moveLeader: maintenance("MoveLeader", message({ target: field(1, exact) }), message({})),
}

const TIMEOUT_MS = 5000

/** @throws EtcdError */
export const listMembers = async (etcd: EtcdConnection): Promise<readonly EtcdMember[]> =>
  (await etcd.ask(RPC.list, {}, TIMEOUT_MS)).members

/**
 * Adds a member without a vote, whose peers will reach it at `peerUrl`. Resolves to it and to all members.
 * @throws EtcdError
 */
export async function addLearner(
  etcd: EtcdConnection,
  peerUrl: string,
): Promise<{ readonly member: EtcdMember; readonly members: readonly EtcdMember[] }> {
  const { member, members } = await etcd.call(RPC.add, { peerURLs: [peerUrl], isLearner: true }, TIMEOUT_MS)
  if (member === undefined) throw new EtcdError("Internal", "etcd has added a member without naming it")
  return { member, members }
}

/**
 * Gives a member its vote. A member that has one stays as it is.
 * @throws EtcdError while the member has too little of the log
 */
export async function promote(etcd: EtcdConnection, id: bigint): Promise<void> {
  await etcd.ask(RPC.promote, { id }, TIMEOUT_MS).catch(unless(/can only promote a learner member$/))
}

/** Removes a member. Does nothing when there is none of this id. @throws EtcdError */
export async function removeMember(etcd: EtcdConnection, id: bigint): Promise<void> {
  await etcd.ask(RPC.remove, { id }, TIMEOUT_MS).catch(unless(/member not found$/))
}

/** @throws EtcdError */
export async function moveMember(etcd: EtcdConnection, id: bigint, peerUrl: string): Promise<void> {
  await etcd.call(RPC.update, { id, peerURLs: [peerUrl] }, TIMEOUT_MS)
}

/** Returns the id of the leader; 0 while there is none. @throws EtcdError */
export const leaderOf = async (etcd: EtcdConnection): Promise<bigint> =>
  (await etcd.ask(RPC.status, {}, TIMEOUT_MS)).leader

/** Makes another member the leader. `etcd` must be a connection to the leader. @throws EtcdError */
export async function moveLeader(etcd: EtcdConnection, to: bigint): Promise<void> {
  await etcd.call(RPC.moveLeader, { target: to }, TIMEOUT_MS)
}

const unless = (known: RegExp) => (err: unknown) => {
  if (!(err instanceof EtcdError && known.test(err.message))) throw err
}
