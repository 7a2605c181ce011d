import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { fromLabels } from "../../pkg/apimachinery/selectors/labels.ts"
import { Endpoints } from "../../pkg/api/core/v1/service/endpoints.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { timestamp } from "../../pkg/clock/clock.ts"
import { splitKey, type Key } from "../../pkg/client/informer.ts"
import { selectedPods } from "./selection/selected-pods.ts"
import { defineController, watching, type Controller } from "../../pkg/controller/controller.ts"
import { canBeEndpoint, HEADLESS_LABEL, isHeadless, readinessOf, TRIGGER_TIME } from "./endpointslice/endpoint-ports.ts"
import { subsetsOf } from "./endpoint-subsets.ts"
import { servicesOfPod } from "./endpointslice/services-of-pod.ts"

const MANAGED_BY = "endpoints.kubernetes.io/managed-by"
const OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
/** Most addresses of an Endpoints object; the EndpointSlices of larger Services have all. Source: maxCapacity. */
const MAX_ADDRESSES = 1000

const keyOf = ({ metadata }: Service | Endpoints): Key => `${metadata.namespace}/${metadata.name}`

/**
 * Keeps the Endpoints of each Service with a selector, for clients that do not read EndpointSlices, and deletes those
 * of any Service with it. Source: pkg/controller/endpoint.
 */
export function endpointController(): Controller<Service> {
  /** Services that were deleted, whose Endpoints are not yet. */
  const deleted = new Set<Key>()
  return defineController<Service>({
    name: "endpoint-controller",
    reconciles: Service,
    watches: [
      servicesOfPod,
      watching(Endpoints, (endpoints) => [keyOf(endpoints)]),
      watching(Service, (service, _context, _old, isDeleted) => {
        if (isDeleted) deleted.add(keyOf(service))
        return isDeleted ? [keyOf(service)] : []
      }),
    ],
    async reconcile(key, { informers, client, clock }) {
      const { namespace = "", name } = splitKey(key)
      const service = informers.of(Service).get(key)
      const existing = informers.of(Endpoints).get(key)
      if (service === undefined) {
        // Endpoints have no owner reference: they are deleted with the Service of their name, whoever created them.
        // Those that somebody created without a Service, such as a lock, stay.
        const isLeft = existing?.metadata.labels?.[MANAGED_BY] === "endpoint-controller"
        if (existing !== undefined && (isLeft || deleted.has(key)))
          await client.delete(Endpoints, { namespace, name }).catch((err: unknown) => {
            if (!isNotFound(err)) throw err
          })
        deleted.delete(key)
        return
      }
      deleted.delete(key)
      if (
        service.metadata.deletionTimestamp !== undefined ||
        service.spec.type === "ExternalName" ||
        Object.keys(service.spec.selector ?? {}).length === 0
      )
        return
      const selector = fromLabels(service.spec.selector)
      const pods = selectedPods(informers.of(Pod), namespace, selector).filter((pod) =>
        canBeEndpoint(pod, service.spec.publishNotReadyAddresses === true),
      )
      const capped = pods.length > MAX_ADDRESSES
      const subsets = subsetsOf(
        capped
          ? [...pods]
              .sort((a, b) => Number(readinessOf(b, service).ready) - Number(readinessOf(a, service).ready))
              .slice(0, MAX_ADDRESSES)
          : pods,
        service,
      )

      const { [HEADLESS_LABEL]: _, ...own } = service.metadata.labels ?? {}
      const labels = {
        ...own,
        [MANAGED_BY]: "endpoint-controller",
        ...(isHeadless(service) ? { [HEADLESS_LABEL]: "" } : {}),
      }
      if (
        existing !== undefined &&
        JSON.stringify(existing.subsets ?? []) === JSON.stringify(subsets) &&
        JSON.stringify(sorted(existing.metadata.labels)) === JSON.stringify(sorted(labels))
      )
        return
      const annotations = {
        ...existing?.metadata.annotations,
        [TRIGGER_TIME]: timestamp(clock),
        ...(capped ? { [OVER_CAPACITY]: "truncated" } : {}),
      }
      const object = { metadata: { ...(existing?.metadata ?? { name, namespace }), labels, annotations }, subsets }
      await (existing === undefined ? client.create(Endpoints, object) : client.update(Endpoints, object))
    },
  })
}

const sorted = (labels: Readonly<Record<string, string>> | undefined): unknown =>
  Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
