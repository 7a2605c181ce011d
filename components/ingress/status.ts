import { isConflict } from "../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import type { Key } from "../../pkg/client/informer.ts"
import { defineController, type Controller } from "../../pkg/controller/controller.ts"
import type { Problem } from "./routing/compile.ts"

/** What is reported about an Ingress. */
export interface Told {
  /** The addresses at which it is served. */
  readonly addresses: readonly string[]
  readonly problems: readonly (Pick<Problem, "message"> & { readonly reason: string })[]
}

export interface StatusParts {
  /** Returns undefined for an Ingress that is not served here. */
  readonly told: (key: Key) => Told | undefined
}

/** Writes the addresses of Ingresses into their status, and their problems as Events, each once. */
export function statusController({ told }: StatusParts): Controller<Ingress> {
  /** The problems that were reported, by Ingress. */
  const known = new Map<Key, ReadonlySet<string>>()
  /** Ingresses whose status was written here. */
  const written = new Set<Key>()
  return defineController<Ingress>({
    name: "ingress-controller",
    reconciles: Ingress,
    async reconcile(key, { informers, client, events }) {
      const ingress = informers.of(Ingress).get(key)
      if (ingress === undefined || ingress.metadata.deletionTimestamp !== undefined) {
        known.delete(key)
        written.delete(key)
        return
      }
      const now = told(key)
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
      if (!isOurs || deepEqual(present, wanted)) return
      if (now !== undefined) written.add(key)
      try {
        await client.updateStatus(Ingress, {
          ...ingress,
          status: { loadBalancer: wanted.length === 0 ? {} : { ingress: wanted } },
        })
      } catch (err) {
        // The informer will deliver the newer object.
        if (!isConflict(err)) throw err
      }
    },
  })
}
