import { errorMessage } from "../../errors/error-message.ts"
import { writeNode } from "./write-node.ts"
import { kindName, type NodeKind, type YamlNode } from "./yaml-node.ts"

/** A node is of another kind than a transformer expects. Source: kyaml yaml/fns.go InvalidNodeKindError. */
export class InvalidNodeKindError extends Error {
  readonly actual: NodeKind

  constructor(expected: NodeKind, node: YamlNode) {
    super(
      `wrong node kind: expected ${kindName(expected)} but got ${kindName(node.kind)}: node contents:\n${writeNode(node)}`,
    )
    this.actual = node.kind
  }
}

/** Runs a function. What it throws is thrown with `prefix` before its message. */
export function withPrefix<T>(prefix: string, run: () => T): T {
  try {
    return run()
  } catch (err) {
    throw prefixed(prefix, err)
  }
}

/** Runs a function. What it throws is thrown with a prefix that is worked out only then. */
export function withPrefixOf<T>(prefix: () => string, run: () => T): T {
  try {
    return run()
  } catch (err) {
    throw prefixed(prefix(), err)
  }
}

/** Waits for a function. What it throws is thrown with `prefix` before its message. */
export async function withPrefixAsync<T>(prefix: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (err) {
    throw prefixed(prefix, err)
  }
}

/** Returns an error with a longer message, whose cause is the given one. */
export const prefixed = (prefix: string, err: unknown): Error =>
  new Error(`${prefix}: ${errorMessage(err)}`, { cause: err })

/** Returns the first error in a chain of causes that a test accepts. */
export function causeOf<T extends Error>(err: unknown, type: abstract new (...args: never[]) => T): T | undefined {
  for (let at = err; at instanceof Error; at = at.cause) if (at instanceof type) return at
  return undefined
}
