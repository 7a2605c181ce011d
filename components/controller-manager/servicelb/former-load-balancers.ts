import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController } from "../../../pkg/controller/controller.ts"
import { CLEANUP, hasCleanup, setCleanup } from "./cleanup.ts"

/** The field manager under which `serviceLbController` writes: the name of its account. */
const MANAGER = "service-controller"

/**
 * Whether the finalizer is from `serviceLbController`: another cloud controller, which sets the same one under its own
 * name, still has to remove its load balancer.
 */
const isFormer = (service: Service): boolean =>
  hasCleanup(service) &&
  service.metadata.managedFields?.some(({ manager, fieldsV1 }) => {
    const fields = fieldsV1 as { readonly "f:metadata"?: { readonly "f:finalizers"?: object } } | undefined
    return manager === MANAGER && `v:${JSON.stringify(CLEANUP)}` in (fields?.["f:metadata"]?.["f:finalizers"] ?? {})
  }) === true

/**
 * Removes the finalizer of load balancers from Services where `serviceLbController` is off: nobody else would, and the
 * Services could not be deleted.
 */
export const formerLoadBalancers = defineController({
  name: "former-service-lb-controller",
  reconciles: Service,
  concerns: isFormer,
  async reconcile(key, { informers, client }) {
    const service = informers.of(Service).get(key)
    if (service === undefined || !isFormer(service)) return
    await setCleanup(service, false, { client }).catch((err: unknown) => {
      if (!isNotFound(err)) throw err
    })
  },
})
