/** Secrets in kube-system that reserve the name of a node for the machine that has joined with it. */
import type { NodeMembership } from "../../../../pki/node-membership.ts"
import type { Secret } from "./secret.ts"

export const NODE_PASSWORD_NAMESPACE = "kube-system"
export const NODE_PASSWORD_TYPE = "k3ts.io/node-password"
/** How long a machine that has joined may take to register its Node, in milliseconds. */
const JOINING_MS = 60_000

export const nodePasswordSecret = (node: string): string => `${node}.node-password.k3ts`

/**
 * Returns whether a machine has joined so recently that its Node need not exist yet. `now`: milliseconds since the
 * epoch.
 */
export const isJoining = ({ metadata }: Secret, now: number): boolean =>
  now - Date.parse(metadata.creationTimestamp!) < JOINING_MS

/**
 * Returns whether a membership is still valid, by the Secret of its node and whether the Node exists: it ends when the
 * Node is deleted, and when another machine takes the name.
 */
export const lasts = (
  { uid }: NodeMembership,
  secret: Secret | undefined,
  { isThere, now }: { readonly isThere: boolean; readonly now: number },
): boolean => secret !== undefined && secret.metadata.uid === uid && (isThere || isJoining(secret, now))
