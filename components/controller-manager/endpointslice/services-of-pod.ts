import { fromLabels } from "../../../pkg/apimachinery/labels.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { Pod as PodResource } from "../../../pkg/api/core/v1/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service.ts"
import type { Watched } from "../../../pkg/controller/controller.ts"
import { endpointChanged } from "./endpoint-ports.ts"

/** An event on a pod enqueues the Services that select it, or selected it before. */
export const servicesOfPod: Watched = {
  resource: PodResource,
  keys(object, { informers }, before) {
    const [pod, old] = [object as Pod, before as Pod | undefined]
    if (old !== undefined && !endpointChanged(pod, old)) return []
    return informers.of(Service).list(pod.metadata.namespace).filter(({ spec }) => {
      if (spec.selector === undefined || Object.keys(spec.selector).length === 0) return false
      const selector = fromLabels(spec.selector)
      return selector.matches(pod.metadata.labels) || (old !== undefined && selector.matches(old.metadata.labels))
    }).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  },
}
