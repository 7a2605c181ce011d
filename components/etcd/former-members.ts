import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { defineController } from "../../pkg/controller/controller.ts"
import { ETCD_LABEL, MEMBER_ANNOTATION, MEMBER_FINALIZER, patchNode } from "./member-controller.ts"

const isMember = ({ metadata }: Node): boolean =>
  metadata.annotations?.[MEMBER_ANNOTATION] !== undefined || metadata.finalizers?.includes(MEMBER_FINALIZER) === true

/**
 * Takes from Nodes what says that they have a member of etcd, where the servers have no etcd of their own: after a
 * snapshot was restored into SQLite, a Node with the finalizer could never be deleted.
 */
export const formerMembers = defineController({
  name: "etcd-former-members",
  reconciles: Node,
  concerns: isMember,
  async reconcile(name, { informers, client, log }) {
    const node = informers.of(Node).get(name)
    if (node === undefined || !isMember(node)) return
    const finalizers = (node.metadata.finalizers ?? []).filter((finalizer) => finalizer !== MEMBER_FINALIZER)
    const changes = { labels: { [ETCD_LABEL]: null }, annotations: { [MEMBER_ANNOTATION]: null }, finalizers }
    await patchNode(node, changes, client)
    log.info("A Node is no member of etcd any more", { node: name })
  },
})
