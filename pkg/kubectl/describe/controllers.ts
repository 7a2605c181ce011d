import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { listInChunks } from "./describe-client.ts"
import type { Describing } from "./describing.ts"
import { PODS } from "./pod.ts"

/** How many pods of a controller are in which phase. */
export interface PodPhases {
  readonly running: number
  readonly waiting: number
  readonly succeeded: number
  readonly failed: number
}

/** Counts the pods of a controller, which may be fewer than those that its selector selects. */
export async function podPhasesOf(
  { client, chunkSize }: Describing,
  { namespace = "", uid = "" }: { readonly namespace?: string | undefined; readonly uid?: string | undefined },
  labelSelector: string,
): Promise<PodPhases> {
  const query = labelSelector === "" ? {} : { labelSelector }
  const pods = await listInChunks<Pod>(client, { path: PODS, namespace, query, limit: chunkSize })
  const count = { Running: 0, Pending: 0, Succeeded: 0, Failed: 0, Unknown: 0 }
  for (const { metadata, status } of pods)
    if (metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid === uid && status.phase)
      count[status.phase]++
  return { running: count.Running, waiting: count.Pending, succeeded: count.Succeeded, failed: count.Failed }
}

export const podPhasesText = ({ running, waiting, succeeded, failed }: PodPhases): string =>
  `${running} Running / ${waiting} Waiting / ${succeeded} Succeeded / ${failed} Failed`
