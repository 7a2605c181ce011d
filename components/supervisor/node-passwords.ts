/**
 * Each machine makes a password when it first joins, and sends it whenever it asks for certificates with a token. So
 * nobody who has only a token gets the certificates of an existing node. The hash is in a Secret of kube-system.
 * Source: k3s pkg/nodepassword/nodepassword.go. Differs from there: the hash is SHA-256 with salt instead of scrypt,
 * since the password is 128 random bits, which nobody can guess; and a Secret whose Node is gone does not count, so a
 * machine that was set up again can join after `kubectl delete node`.
 */
import { createHash } from "node:crypto"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { ApiError, isNotFound, isReason } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import type { Random } from "../../pkg/clock/random.ts"
import { sameSecret } from "../../pkg/pki/same-secret.ts"

const NAMESPACE = "kube-system"
export const NODE_PASSWORD_TYPE = "k3ts.io/node-password"
/** The most nodes that can join, so that nobody who has a token can fill the store. Upstream supports 5,000. */
const MOST_NODES = 10_000
/** How long a machine that has joined may take to register its Node. */
const JOINING_MS = 60_000

export const nodePasswordSecret = (node: string): string => `${node}.node-password.k3ts`

export interface NodePasswordsOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
}

export class NodePasswords {
  readonly #options: NodePasswordsOptions

  constructor(options: NodePasswordsOptions) {
    this.#options = options
  }

  /**
   * Stores the password of a node that has none yet; compares it with the stored one otherwise. @throws ApiError
   * Forbidden, with what to do about it
   */
  async verify(node: string, password: string): Promise<void> {
    const { client } = this.#options
    const kept = await orUndefined(client.get(Secret, { namespace: NAMESPACE, name: nodePasswordSecret(node) }))
    if (kept !== undefined && matches(kept, password)) return
    const isThere = (await orUndefined(client.get(Node, { name: node }))) !== undefined
    if (kept === undefined) {
      if (isThere) throw taken(node)
      return this.#create(node, password)
    }
    if (isThere || this.#isJoining(kept)) throw taken(node)
    await this.#forget(kept, node)
    await this.#create(node, password)
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

  /** Throws Unauthorized when a Node has been deleted, so that its certificates cannot be renewed any more. */
  async verifyExists(node: string): Promise<void> {
    if ((await orUndefined(this.#options.client.get(Node, { name: node }))) === undefined)
      throw new ApiError("Unauthorized", `the node ${node} is gone: it must join again, with a token`)
  }

  #isJoining({ metadata }: Secret): boolean {
    return this.#options.clock.now() - Date.parse(metadata.creationTimestamp!) < JOINING_MS
  }

  async #create(node: string, password: string): Promise<void> {
    const { client, random } = this.#options
    const { items } = await client.list(Secret, { namespace: NAMESPACE, fieldSelector: `type=${NODE_PASSWORD_TYPE}` })
    if (items.length >= MOST_NODES)
      throw new ApiError(
        "Forbidden",
        `cannot take the node ${node}: ${items.length} have joined, which is the limit; delete Secrets of the type ` +
          `${NODE_PASSWORD_TYPE} in ${NAMESPACE} whose nodes are gone`,
      )
    try {
      await client.create(Secret, {
        metadata: { namespace: NAMESPACE, name: nodePasswordSecret(node) },
        type: NODE_PASSWORD_TYPE,
        immutable: true,
        data: { hash: Buffer.from(hashOf(password, Buffer.from(random.bytes(16)).toString("hex"))).toString("base64") },
      })
    } catch (err) {
      if (!isReason(err, "AlreadyExists")) throw err
      // Another request has created it meanwhile, of this machine or of another one.
      const kept = await client.get(Secret, { namespace: NAMESPACE, name: nodePasswordSecret(node) })
      if (!matches(kept, password)) throw taken(node)
    }
  }
}

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
