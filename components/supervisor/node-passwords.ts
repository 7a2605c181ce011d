/**
 * Each machine makes a password when it first joins, and sends it whenever it asks for certificates with a token. So
 * nobody who has only a token gets the certificates of an existing node. The hash is in a Secret of kube-system.
 * Source: k3s pkg/nodepassword/nodepassword.go. Differs from there: the hash is SHA-256 with salt instead of scrypt,
 * since the password is 128 random bits, which nobody can guess; and a Secret whose Node is gone does not count, so a
 * machine that was set up again can join after `kubectl delete node`.
 */
import { createHash } from "node:crypto"
import {
  isJoining,
  lasts,
  NODE_PASSWORD_NAMESPACE,
  NODE_PASSWORD_TYPE,
  nodePasswordSecret,
} from "../../pkg/api/core/v1/secret/node-password.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { ApiError, isNotFound, isReason } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { NodeMembership } from "../../pkg/pki/node-membership.ts"
import { sameSecret } from "../../pkg/pki/same-secret.ts"

/** The most nodes that can join, so that nobody who has a token can fill the store. Upstream supports 5,000. */
const MOST_NODES = 10_000
/** How many passwords are looked at for one whose node is gone, when there are as many as there can be. */
const MOST_LOOKED_AT = 50

export interface NodePasswordsOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  /** How many nodes can have joined; `MOST_NODES` unless given. */
  readonly most?: number
}

export class NodePasswords {
  readonly #options: NodePasswordsOptions

  constructor(options: NodePasswordsOptions) {
    this.#options = options
  }

  /**
   * Stores the password of a node that has none yet; compares it with the stored one otherwise. Returns the membership,
   * which is another one after the Node has been deleted. Calls `taking` before a name is taken, which may throw.
   * @throws ApiError Forbidden, with what to do about it
   */
  async verify(node: string, password: string, taking: () => void = () => undefined): Promise<NodeMembership> {
    const { kept, isThere } = await this.#find(node)
    if (kept === undefined) {
      if (isThere) throw taken(node)
      taking()
      return this.#create(node, password)
    }
    if (isThere || isJoining(kept, this.#options.clock.now())) {
      if (matches(kept, password)) return membershipOf(node, kept)
      throw taken(node)
    }
    await this.#forget(kept, node)
    return this.#create(node, password)
  }

  async #find(node: string): Promise<{ readonly kept: Secret | undefined; readonly isThere: boolean }> {
    const { client } = this.#options
    const secret = { namespace: NODE_PASSWORD_NAMESPACE, name: nodePasswordSecret(node) }
    const [kept, there] = await Promise.all([
      orUndefined(client.get(Secret, secret)),
      orUndefined(client.get(Node, { name: node })),
    ])
    return { kept, isThere: there !== undefined }
  }

  /** Deletes a password whose node is gone, unless another machine has taken the name meanwhile. */
  async #forget({ metadata }: Secret, node: string): Promise<void> {
    const preconditions = { uid: metadata.uid! }
    try {
      await this.#options.client.delete(Secret, metadata, { preconditions })
    } catch (err) {
      if (isReason(err, "Conflict")) throw taken(node)
      if (!isNotFound(err)) throw err // the create that follows finds the other machine's password and compares it
    }
  }

  /** Throws Unauthorized when a membership has ended, so that its certificates do not live on without it. */
  async verifyLasts(membership: NodeMembership): Promise<void> {
    const { node } = membership
    const { kept, isThere } = await this.#find(node)
    if (!lasts(membership, kept, { isThere, now: this.#options.clock.now() }))
      throw new ApiError("Unauthorized", `the node ${node} is gone: it must join again, with a token`)
  }

  /** Deletes passwords of nodes that are gone, of some that are chosen by chance. Returns whether it found any. */
  async #makeRoom(passwords: readonly Secret[]): Promise<boolean> {
    const { clock, random } = this.#options
    const first = Math.floor(random.next() * passwords.length)
    const some = [...passwords.slice(first), ...passwords.slice(0, first)].slice(0, MOST_LOOKED_AT)
    let found = false
    for (const one of some) {
      if (isJoining(one, clock.now()) || (await this.#find(nodeOf(one))).isThere) continue
      await this.#forget(one, nodeOf(one))
      found = true
    }
    return found
  }

  async #create(node: string, password: string): Promise<NodeMembership> {
    const { client, random } = this.#options
    const { items } = await client.list(Secret, {
      namespace: NODE_PASSWORD_NAMESPACE,
      fieldSelector: `type=${NODE_PASSWORD_TYPE}`,
    })
    if (items.length >= (this.#options.most ?? MOST_NODES) && !(await this.#makeRoom(items)))
      throw new ApiError(
        "Forbidden",
        `cannot take the node ${node}: ${items.length} have joined, which is the limit; delete Secrets of the type ` +
          `${NODE_PASSWORD_TYPE} in ${NODE_PASSWORD_NAMESPACE} whose nodes are gone`,
      )
    try {
      const made = await client.create(Secret, {
        metadata: { namespace: NODE_PASSWORD_NAMESPACE, name: nodePasswordSecret(node) },
        type: NODE_PASSWORD_TYPE,
        immutable: true,
        data: { hash: Buffer.from(hashOf(password, Buffer.from(random.bytes(16)).toString("hex"))).toString("base64") },
      })
      return membershipOf(node, made)
    } catch (err) {
      if (!isReason(err, "AlreadyExists")) throw err
      // Another request has created it meanwhile, of this machine or of another one.
      const { kept } = await this.#find(node)
      if (kept === undefined || !matches(kept, password)) throw taken(node)
      return membershipOf(node, kept)
    }
  }
}

const nodeOf = ({ metadata }: Secret): string => metadata.name!.slice(0, -nodePasswordSecret("").length)

const membershipOf = (node: string, { metadata }: Secret): NodeMembership => ({ node, uid: metadata.uid! })

const taken = (node: string): ApiError =>
  new ApiError(
    "Forbidden",
    `the name ${node} belongs to another machine: choose another by --node-name, or, if that machine was set up again, ` +
      `run: kubectl delete node ${node}`,
  )

function matches({ data = {} }: Secret, password: string): boolean {
  const hash = Buffer.from(data["hash"] ?? "", "base64").toString("utf8")
  return sameSecret(hash, hashOf(password, hash.split(":")[1] ?? ""))
}

const hashOf = (password: string, salt: string): string =>
  `sha256:${salt}:${createHash("sha256").update(`${salt}:${password}`).digest("hex")}`

async function orUndefined<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}
