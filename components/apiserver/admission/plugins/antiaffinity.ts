import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { on, type AdmissionPlugin } from "../admission.ts"

const HOSTNAME = "kubernetes.io/hostname"

/**
 * Refuses pods that keep others off more than their node, such as off a whole zone, by required anti-affinity. Source:
 * plugin/pkg/admission/antiaffinity.
 */
export const limitPodHardAntiAffinityTopology: AdmissionPlugin = on(Pod, {
  name: "LimitPodHardAntiAffinityTopology",
  operations: ["CREATE", "UPDATE"],
  validate({ resource, object: { metadata, spec } }) {
    const terms = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    const wrong = terms.find(({ topologyKey }) => topologyKey !== HOSTNAME)
    if (wrong !== undefined)
      throw forbidden(
        resource,
        metadata.name ?? "",
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${wrong.topologyKey} but only key ${HOSTNAME} is allowed`,
      )
  },
})
