import { fromLabels } from "../../../pkg/apimachinery/selectors/labels.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { watching } from "../../../pkg/controller/controller.ts"
import { labelsOf, selectingObjects } from "../selection/selecting-objects.ts"
import { endpointChanged } from "./endpoint-ports.ts"

const services = selectingObjects<Service>("selected label", ({ spec }) =>
  spec.selector === undefined || Object.keys(spec.selector).length === 0 ? undefined : fromLabels(spec.selector),
)

/** An event on a pod enqueues the Services that select it, or selected it before. */
export const servicesOfPod = watching(Pod, (pod, { informers }, old) => {
  if (old !== undefined && !endpointChanged(pod, old)) return []
  return services
    .selecting(informers.of(Service), pod.metadata.namespace ?? "", ...labelsOf(pod, old))
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
})
