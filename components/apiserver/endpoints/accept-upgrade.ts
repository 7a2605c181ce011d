import type { Duplex } from "node:stream"
import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { Exchange, Upgrade } from "../http/exchange.ts"

/** The raw connection, of a client that asked to leave HTTP. @throws ApiError of a client that did not */
export function upgradeOf({ upgrade }: Exchange): Upgrade {
  if (upgrade === undefined) throw badRequest("Upgrade request required")
  return upgrade
}

/** Hands the raw connection over. */
export function accepted<T>(
  { req }: Exchange,
  { answer, socket, head }: Upgrade,
  accept: (req: Exchange["req"], socket: Duplex, head: Buffer) => Promise<T>,
): Promise<T> {
  answer.upgraded()
  return accept(req, socket, head)
}
