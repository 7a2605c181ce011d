import { isConflict } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import type { Key } from "../../../pkg/client/informer.ts"
import { defineController, type Controller } from "../../../pkg/controller/controller.ts"
import type { Problem } from "../routing/problem.ts"
import type { StatusTurn } from "./status-turn.ts"

/** What is reported about an Ingress. */
export interface IngressReport {
  /** The addresses at which it is served. */
  readonly addresses: readonly string[]
  readonly problems: readonly (Pick<Problem, "message"> & { readonly reason: string })[]
}

export interface StatusParts {
  /** Returns undefined for an Ingress that is not served here. */
  readonly reportOf: (key: Key) => IngressReport | undefined
  readonly turn: Pick<StatusTurn, "isOurs">
}

/** How soon addresses are written again that somebody has overwritten, in milliseconds: they would answer without end. */
const OVERWRITTEN_MS = 60_000

/** Writes the addresses of Ingresses into their status, and their problems as Events, each once. */
export function statusController({ reportOf, turn }: StatusParts): Controller<Ingress> {
  /** The problems that were reported, by Ingress. */
  const known = new Map<Key, ReadonlySet<string>>()
  /** What was written here last, by Ingress, and when. */
  const written = new Map<Key, { readonly uid: string | undefined; readonly wanted: unknown; readonly at: number }>()
  return defineController<Ingress>({
    name: "ingress-controller",
    reconciles: Ingress,
    async reconcile(key, { informers, client, clock, events }) {
      const ingress = informers.of(Ingress).get(key)
      if (ingress === undefined || ingress.metadata.deletionTimestamp !== undefined) {
        known.delete(key)
        written.delete(key)
        return undefined
      }
      if (!turn.isOurs) return undefined
      const now = reportOf(key)
      const problems = new Map(
        (now?.problems ?? []).map(({ reason, message }) => [`${reason}\0${message}`, reason] as const),
      )
      const before = known.get(key)
      if (problems.size === 0) known.delete(key)
      else known.set(key, new Set(problems.keys()))
      for (const [text, reason] of problems)
        if (before?.has(text) !== true) events.event(ingress, "Warning", reason, text.slice(reason.length + 1))

      const present = ingress.status.loadBalancer.ingress ?? []
      // The status of an Ingress that got another class is cleared once; then it belongs to another controller.
      const isOurs = now !== undefined || written.delete(key)
      const wanted = (now?.addresses ?? []).map((ip) => ({ ip }))
      if (!isOurs || deepEqual(present, wanted)) return undefined
      const { uid } = ingress.metadata
      const last = written.get(key)
      const isOverwritten = last !== undefined && last.uid === uid && deepEqual(last.wanted, wanted)
      const leftMs = isOverwritten ? last.at + OVERWRITTEN_MS - clock.monotonic() : 0
      if (leftMs > 0) return { requeueAfter: leftMs }
      try {
        await client.updateStatus(Ingress, {
          ...ingress,
          status: { loadBalancer: wanted.length === 0 ? {} : { ingress: wanted } },
        })
        if (now !== undefined) written.set(key, { uid, wanted, at: clock.monotonic() })
      } catch (err) {
        // The informer will deliver the newer object.
        if (!isConflict(err)) throw err
      }
      return undefined
    },
  })
}
