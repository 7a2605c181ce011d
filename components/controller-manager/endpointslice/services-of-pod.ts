import { fromLabels } from "../../../pkg/apimachinery/selectors/labels.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { Index } from "../../../pkg/client/informer.ts"
import { watching } from "../../../pkg/controller/controller.ts"
import { endpointChanged } from "./endpoint-ports.ts"

/** Services that select pods, by namespace. */
const selecting: Index<Service> = {
  name: "selecting",
  of: ({ metadata, spec }) =>
    spec.selector === undefined || Object.keys(spec.selector).length === 0 ? [] : [metadata.namespace ?? ""],
}

/** An event on a pod enqueues the Services that select it, or selected it before. */
export const servicesOfPod = watching(Pod, (pod, { informers }, old) => {
  const services = informers.of(Service).by(selecting, pod.metadata.namespace ?? "")
  if (services.length === 0 || (old !== undefined && !endpointChanged(pod, old))) return []
  return services
    .filter(({ spec }) => {
      const selector = fromLabels(spec.selector ?? {})
      return selector.matches(pod.metadata.labels) || (old !== undefined && selector.matches(old.metadata.labels))
    })
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
})
