import { BACKEND_DATA, backendDataIn } from "../../../../../pkg/api/core/v1/node/backend-data.ts"
import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { forbidden } from "../../../../../pkg/apimachinery/errors.ts"
import { asKind, type KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"

/**
 * Refuses a node to announce the WireGuard key that another node announces: the others would take the key for its own,
 * and lose the way to the node that has it. Not in upstream, where flannel believes the last one.
 */
export function checkAnnouncedKey(
  { resource, name, object, old }: AdmissionAttributes,
  { objects }: Pick<AdmissionContext, "objects">,
): void {
  const before = keysOf(old)
  for (const key of keysOf(object)) {
    if (before.includes(key)) continue
    const holder = objects.list(Node).find((one) => one.metadata.name !== name && keysOf(one).includes(key))
    if (holder !== undefined)
      throw forbidden(resource, name, `the node ${holder.metadata.name} announces the key ${key} already`)
  }
}

/** Returns the keys that a Node announces, in canonical form. */
const keysOf = (object: KubeObject | undefined): readonly string[] =>
  object === undefined
    ? []
    : Object.values(BACKEND_DATA).flatMap((annotation) => {
        const { PublicKey: key } = backendDataIn(asKind(Node, object).metadata.annotations?.[annotation])
        return typeof key === "string" ? [Buffer.from(key, "base64").toString("base64")] : []
      })
