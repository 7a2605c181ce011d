import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import type { OwnAttachment } from "./attachments.ts"

/** Writes which volumes are attached to a node into its status, if it says something else. */
export async function reportAttached(
  { metadata: { name = "" }, status }: Node,
  own: readonly OwnAttachment[],
  { client }: ReconcileContext,
): Promise<void> {
  const volumesAttached = own
    .filter(({ attachment: { metadata, status } }) => status.attached && metadata.deletionTimestamp === undefined)
    .map((one) => ({ name: one.name, devicePath: "" }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (deepEqual(status.volumesAttached ?? [], volumesAttached)) return
  try {
    await client.patch(
      Node,
      { name },
      { type: "strategic", body: { status: { volumesAttached } } },
      { subresource: "status" },
    )
  } catch (err) {
    if (!isNotFound(err)) throw err
  }
}
