import { claimNamesOf } from "../../../pkg/pods/pod-claims.ts"
import { SKIP, SUCCESS, unresolvable, type Plugin } from "../framework.ts"
import type { VolumeObjects } from "../volumebinding/volume-objects.ts"

const ZONES: Readonly<Record<string, string>> = {
  "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region": "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}

interface Place {
  readonly label: string
  /** The current name of the label. */
  readonly current: string
  readonly values: readonly string[]
}

/**
 * Filters nodes by the zone and region labels of the pod's bound volumes; several values are separated by `__`. A node
 * without any such label is accepted, since clusters of a single zone do not label their nodes. Source:
 * plugins/volumezone.
 */
export const volumeZone = (objects: VolumeObjects): Plugin => ({
  name: "VolumeZone",
  eventsToRegister: ["Volume/Change", "Node/Add", "Node/UpdateLabel", "Pod/Update"],
  preFilter(state, pod) {
    const { namespace = "" } = pod.metadata
    const places: Place[] = []
    for (const name of claimNamesOf(pod)) {
      const volume = objects.volume(objects.claim(namespace, name)?.spec.volumeName ?? "")
      for (const [label, value] of Object.entries(volume?.metadata.labels ?? {})) {
        const current = ZONES[label]
        if (current !== undefined) places.push({ label, current, values: value.split("__") })
      }
    }
    if (places.length === 0) return SKIP
    state.set("VolumeZone", places)
    return SUCCESS
  },
  filter(state, _pod, { node }) {
    const labels = node.metadata.labels ?? {}
    if (!Object.keys(ZONES).some((label) => label in labels)) return SUCCESS
    for (const { label, current, values } of state.get("VolumeZone") as readonly Place[])
      if (!values.includes(labels[label] ?? labels[current] ?? ""))
        return unresolvable("node(s) had no available volume zone")
    return SUCCESS
  },
})
