import type { Duplex } from "node:stream"
import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { Exchange, Upgrade } from "../call/exchange.ts"

/**
 * Returns the raw connection of a request that asks for another protocol.
 * @throws ApiError when the request asks for none
 */
export function upgradeOf({ upgrade }: Exchange): Upgrade {
  if (upgrade === undefined) throw badRequest("Upgrade request required")
  return upgrade
}

/** Calls `accept` with the raw connection. */
export function accepted<T>(
  { req }: Exchange,
  { answer, socket, head }: Upgrade,
  accept: (req: Exchange["req"], socket: Duplex, head: Buffer) => Promise<T>,
): Promise<T> {
  answer.upgraded()
  return accept(req, socket, head)
}
