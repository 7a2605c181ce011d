import { lasts, NODE_PASSWORD_NAMESPACE, nodePasswordSecret } from "../../../pkg/api/core/v1/secret/node-password.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { NodeMembership } from "../../../pkg/pki/node-membership.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { storagePrefix } from "../cacher/view.ts"

/** Returns whether the certificates of a membership count. Two reads of memory, for requests of agents only. */
export const nodeMembers =
  ({ objects, now }: { readonly objects: ObjectReader; readonly now: () => number }) =>
  (membership: NodeMembership): boolean => {
    const { node } = membership
    const secret = objects.get(Secret, { namespace: NODE_PASSWORD_NAMESPACE, name: nodePasswordSecret(node) })
    return lasts(membership, secret, { isThere: objects.get(Node, { name: node }) !== undefined, now: now() })
  }

/**
 * Calls `ended` whenever memberships may have ended, so that connections which began before end with them. Returns what
 * ends the calls.
 */
export function onMembershipEnd(storage: Pick<Storage, "subscribe">, ended: () => void): () => void {
  const nodes = storagePrefix(Node, undefined)
  const secrets = storagePrefix(Secret, NODE_PASSWORD_NAMESPACE)
  const isOfMembership = (key: string) => key.startsWith(nodes) || key.endsWith(nodePasswordSecret(""))
  return storage.subscribe(
    (events) => {
      if (events.some(({ key, type }) => type === "delete" && isOfMembership(key))) ended()
    },
    [nodes, secrets],
  )
}
