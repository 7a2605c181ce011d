import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { isConflict, isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import { defineController } from "../../pkg/controller/controller.ts"

/** Source of the label: k3s pkg/util/labels.go. */
export const ETCD_LABEL = "node-role.kubernetes.io/etcd"
/** The name of the member of a Node. As k3s's etcd.k3s.cattle.io/node-name. */
export const MEMBER_ANNOTATION = "etcd.k3ts.io/node-name"
/** Keeps a Node that is being deleted until its member is removed. */
export const MEMBER_FINALIZER = "etcd.k3ts.io/member"

/** The etcd of this server, and what is done to its cluster. */
export interface Members {
  readonly nodeName: string
  /** The name of the member of this server. */
  readonly memberName: string
  /** Whether there is no other member. @throws EtcdError */
  isAlone(): Promise<boolean>
  /** Removes a member by its name; nothing happens where there is none. @throws EtcdError */
  remove(memberName: string): Promise<void>
}

/**
 * Says at the Node of a server which member of etcd it has, and removes the member when the Node is deleted. That is
 * done by any other server: one that is removed would not see the end of it. Source: k3s pkg/etcd/member_controller.go.
 */
export const memberController = (members: Members) =>
  defineController({
    name: "etcd-members",
    reconciles: Node,
    concerns: ({ metadata: { name, deletionTimestamp } }) =>
      name === members.nodeName || deletionTimestamp !== undefined,
    async reconcile(name, { informers, client, log }) {
      const node = informers.of(Node).get(name)
      if (node === undefined) return
      const isOwn = name === members.nodeName
      if (node.metadata.deletionTimestamp === undefined)
        return isOwn ? markNode(node, members.memberName, client) : undefined
      if (!(node.metadata.finalizers ?? []).includes(MEMBER_FINALIZER)) return
      if (isOwn && !(await members.isAlone())) return
      const member = node.metadata.annotations?.[MEMBER_ANNOTATION]
      if (!isOwn && member !== undefined) {
        await members.remove(member)
        log.info("Removed the member of a deleted Node from etcd", { node: name, member })
      }
      const finalizers = node.metadata.finalizers!.filter((finalizer) => finalizer !== MEMBER_FINALIZER)
      await patchNode(node, { finalizers }, client)
    },
  })

function markNode(node: Node, member: string, client: Client): Promise<void> | undefined {
  const { labels = {}, annotations = {}, finalizers = [] } = node.metadata
  const isMarked =
    labels[ETCD_LABEL] === "true" && annotations[MEMBER_ANNOTATION] === member && finalizers.includes(MEMBER_FINALIZER)
  if (isMarked) return undefined
  return patchNode(
    node,
    {
      labels: { [ETCD_LABEL]: "true" },
      annotations: { [MEMBER_ANNOTATION]: member },
      finalizers: [...new Set([...finalizers, MEMBER_FINALIZER])],
    },
    client,
  )
}

/** Patches what this controller has read; where somebody was faster, its event leads here again. */
export async function patchNode({ metadata }: Node, changes: object, client: Client): Promise<void> {
  const { name, resourceVersion } = metadata
  const body = { metadata: { resourceVersion, ...changes } }
  try {
    await client.patch(Node, { name: name! }, { type: "merge", body })
  } catch (err) {
    if (!isNotFound(err) && !isConflict(err)) throw err
  }
}
