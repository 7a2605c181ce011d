import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import {
  BOUND_BY_CONTROLLER,
  claimReference,
  isReachedFrom,
  SELECTED_NODE,
} from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { humanDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { keyFrom, type Informers } from "../../../pkg/client/informer.ts"
import type { BindingContext } from "../binding-context.ts"
import { holds } from "../holds.ts"
import type { VolumeObjects } from "./volume-objects.ts"
import { isBound, planFor } from "./volume-plan.ts"

/**
 * Binds claims that waited for their pod's node, and resolves when they are bound. An existing volume is reserved for
 * its claim; a claim without one is annotated with the node, for the provisioner. Source: BindPodVolumes,
 * checkBindings.
 * @throws ApiError of a refused write, NotFound when the pod is gone; Error when the claims cannot be bound, or are not
 * within the time; what the signal aborted with
 */
export async function bindVolumes(
  pod: Pod,
  nodeName: string,
  claims: readonly PersistentVolumeClaim[],
  objects: VolumeObjects,
  context: BindingContext & { readonly timeoutSeconds: number },
): Promise<void> {
  const { client, informers, clock, waits, signal, timeoutSeconds } = context
  const node = informers.of(Node).get(nodeName)
  const plan = node === undefined ? undefined : planFor(claims, node, objects)
  if (plan === undefined) throw new Error(`binding volumes: node ${nodeName} has no volumes for the pod any more`)
  for (const { volume, claim } of plan.bindings)
    if (volume.spec.claimRef?.uid === undefined)
      await client.update(PersistentVolume, {
        ...volume,
        metadata: {
          ...volume.metadata,
          annotations: { ...volume.metadata.annotations, [BOUND_BY_CONTROLLER]: "yes" },
        },
        spec: { ...volume.spec, claimRef: claimReference(claim) },
      })
  const marked: PersistentVolumeClaim[] = []
  for (const claim of plan.provisions)
    marked.push(
      claim.metadata.annotations?.[SELECTED_NODE] === nodeName
        ? claim
        : await client.update(PersistentVolumeClaim, {
            ...claim,
            metadata: {
              ...claim.metadata,
              annotations: { ...claim.metadata.annotations, [SELECTED_NODE]: nodeName },
            },
          }),
    )
  const unmarked = plan.bindings.map(({ claim }) => claim)
  await holds({
    check: () => areBound(pod, node!, { marked, unmarked }, informers),
    listen: (look) => waits.on(pod, claims, look),
    clock,
    timeoutMs: timeoutSeconds * 1000,
    late: `binding volumes: the claims are not bound after ${humanDuration(timeoutSeconds * 1000)}`,
    signal,
  })
}

/** Whether the claims are bound. @throws Error when they cannot be bound, ApiError NotFound when the pod is gone */
function areBound(
  { metadata }: Pod,
  node: Node,
  {
    marked,
    unmarked,
  }: { readonly marked: readonly PersistentVolumeClaim[]; readonly unmarked: readonly PersistentVolumeClaim[] },
  informers: Informers,
): boolean {
  if (informers.of(Pod).get(keyFrom(metadata))?.metadata.uid !== metadata.uid)
    throw new ApiError(
      "NotFound",
      `binding volumes: pod ${metadata.namespace}/${metadata.name} does not exist any more`,
    )
  return [...marked, ...unmarked].every((claim) => {
    const now = informers.of(PersistentVolumeClaim).get(keyFrom(claim.metadata))
    if (now === undefined || now.metadata.uid !== claim.metadata.uid)
      throw new Error(`binding volumes: claim ${claim.metadata.namespace}/${claim.metadata.name} is gone`)
    // The informer may not show the annotation yet.
    const isCurrent = Number(now.metadata.resourceVersion) >= Number(claim.metadata.resourceVersion)
    if (marked.includes(claim) && isCurrent && now.metadata.annotations?.[SELECTED_NODE] !== node.metadata.name)
      throw new Error(`binding volumes: provisioning failed for PVC ${JSON.stringify(claim.metadata.name)}`)
    const volume = informers.of(PersistentVolume).get(now.spec.volumeName ?? "")
    if (volume !== undefined && !isReachedFrom(volume, node))
      throw new Error(
        `binding volumes: pv ${JSON.stringify(volume.metadata.name)} node affinity doesn't match node ` +
          `${JSON.stringify(node.metadata.name)}`,
      )
    return isBound(now)
  })
}
