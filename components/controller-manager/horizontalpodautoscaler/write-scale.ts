import { isConflict } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Scale } from "../../../pkg/api/autoscaling/v1/scale.ts"
import type { Client } from "../../../pkg/client/client.ts"

/** How often a write of a scale that somebody else changed meanwhile is tried. Source: client-go retry.DefaultRetry. */
const TRIES = 5

/** Sets the replicas of a scale; one that somebody changed meanwhile is read again. @throws ApiError */
export async function writeScale(client: Client, resource: Resource, scale: Scale, replicas: number): Promise<void> {
  let latest = scale
  for (let tries = 1; ; tries++)
    try {
      const wanted = { ...latest, spec: { ...latest.spec, replicas } }
      await client.updateSubresource(resource, latest.metadata, "scale", wanted)
      return
    } catch (err) {
      if (!isConflict(err) || tries === TRIES) throw err
      latest = await client.getSubresource<Scale>(resource, latest.metadata, "scale")
    }
}
