import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Logger } from "../../pkg/log/log.ts"

/**
 * Writes into a pod's status the node that it is nominated to, or null for none. What fails is only logged: nothing
 * waits for the field.
 */
export async function writeNomination(
  { metadata }: Pod,
  node: string | null,
  { client, log }: { readonly client: Client; readonly log: Logger },
): Promise<void> {
  const body = { metadata: { uid: metadata.uid }, status: { nominatedNodeName: node } }
  await client
    .patch(Pod, metadata, { type: "strategic", body }, { subresource: "status" })
    .catch((err: unknown) => log.debug("Failed to write the node that a pod is nominated to", { err }))
}
