import type { KubeObject } from "../apimachinery/resource.ts"
import type { Key } from "../client/informer.ts"
import type { ComponentContext } from "../component/component.ts"
import { editionOf } from "../quarantine/edition.ts"
import { WAIT_MS } from "../quarantine/quarantine.ts"
import { skippedBy } from "../quarantine/seam.ts"
import type { Controller, ReconcileContext } from "./controller.ts"

type Reconcile = Controller["reconcile"]

/**
 * Returns the `reconcile` of a controller, by which it notes the key that it works on, and skips what is set aside: with
 * an Event about the object.
 */
export function guarded<T extends KubeObject>(
  controller: Controller<T>,
  { quarantine, informers }: Pick<ComponentContext, "quarantine" | "informers">,
): Reconcile {
  if (quarantine === undefined) return (key, context) => controller.reconcile(key, context)
  const place = quarantine.place(controller.name)
  const reported = new Set<Key>()
  const objectOf = (key: Key) => informers.of(controller.reconciles).get(key)
  const skip = (key: Key, { events, log }: ReconcileContext) => {
    const object = objectOf(key)
    if (reported.has(key) || object === undefined) return
    reported.add(key)
    log.error("Skipped what is set aside")
    events.event(object, "Warning", "SetAside", skippedBy(controller.name))
  }
  return async (key, context) => {
    const fate = place.fate(key, () => {
      const object = objectOf(key)
      return object === undefined ? undefined : editionOf(object)
    })
    if (fate === "wait") return { requeueAfter: WAIT_MS }
    if (fate === "skip") return skip(key, context)
    return place.during(key, () => controller.reconcile(key, context))
  }
}
