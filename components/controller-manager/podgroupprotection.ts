import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { PodGroup, PROTECTION } from "../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import { defineController, watching } from "../../pkg/controller/controller.ts"
import { groupOf, podsByGroup } from "../../pkg/pods/pods-by-group.ts"

/**
 * Lets go of a PodGroup that is being deleted when no pod of it is left that has not ended. The finalizer is set at the
 * group's creation (admission plugin PodGroupProtection). Source: pkg/controller/scheduling/podgroupprotection.
 */
export const podGroupProtection = defineController<PodGroup>({
  name: "podgroup-protection-controller",
  reconciles: PodGroup,
  // An update may hide that a pod was deleted and another of its name was created, with another group.
  watches: [
    watching(Pod, (pod, _context, old) =>
      [groupOf(pod), old === undefined ? undefined : groupOf(old)].filter((key) => key !== undefined),
    ),
  ],
  async reconcile(key, { informers, client }) {
    const group = informers.of(PodGroup).get(key)
    if (group?.metadata.deletionTimestamp === undefined) return
    const { finalizers = [] } = group.metadata
    if (!finalizers.includes(PROTECTION)) return
    if (informers.of(Pod).by(podsByGroup, keyFrom(group.metadata)).length > 0) return
    const metadata = { ...group.metadata, finalizers: finalizers.filter((other) => other !== PROTECTION) }
    await client.update(PodGroup, { ...group, metadata }).catch((err: unknown) => {
      if (!isNotFound(err)) throw err
    })
  },
})
