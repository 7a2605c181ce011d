/**
 * Certificates of a machine that has joined contain a URI of its membership, so that they become invalid when the
 * membership ends: `urn:k3ts:node:<name of the node>:<uid of the Secret of its password>`.
 */
import { X509Certificate } from "node:crypto"
import { readAll } from "./der/der.ts"
import { extensionOf } from "./der/extension-of.ts"

export interface NodeMembership {
  readonly node: string
  /** The uid of the Secret that reserves the node's name for the machine. */
  readonly uid: string
}

const SUBJECT_ALT_NAME = "2.5.29.17"
/** The tag of a URI among alternative names (RFC 5280, 4.2.1.6). */
const URI = 0x86
const FORM = /^urn:k3ts:node:([a-z0-9.-]{1,253}):([0-9a-f-]{1,64})$/

/** The key in a user's `extra` of the URI of the membership of the machine for which the user acts. */
export const MEMBERSHIP_EXTRA = "k3ts.io/node-membership"

export const membershipUri = ({ node, uid }: NodeMembership): string => `urn:k3ts:node:${node}:${uid}`

/** Returns the membership in a URI of that form; undefined for any other text. */
export function membershipOfUri(uri: string): NodeMembership | undefined {
  const [, node, uid] = FORM.exec(uri) ?? []
  return node === undefined || uid === undefined ? undefined : { node, uid }
}

/** Returns the membership to which a certificate (DER) belongs; undefined for one that belongs to none. */
export function membershipIn(certificate: Buffer): NodeMembership | undefined {
  const value = extensionOf(new X509Certificate(certificate), SUBJECT_ALT_NAME)
  const [names] = value === undefined ? [] : readAll(value)
  for (const { tag, content } of names === undefined ? [] : readAll(names.content)) {
    const found = tag === URI ? membershipOfUri(content.toString("latin1")) : undefined
    if (found !== undefined) return found
  }
  return undefined
}
