import type { Cause } from "../../../apimachinery/errors.ts"
import { required } from "../../../apimachinery/validation/field-errors.ts"
import { RawJson } from "../../../apimachinery/json/raw-json.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectOfResource } from "../../../apimachinery/resource.ts"

export const ControllerRevision = defineResource(
  {
    group: "apps",
    version: "v1",
    kind: "ControllerRevision",
    plural: "controllerrevisions",
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "A stored version of a stateful set's or daemon set's template.",
    columns: [
      { name: "Controller", type: "string", doc: "Owner of the revision.", value: controllerOf },
      { name: "Revision", type: "string", doc: "Number of the revision.", value: (revision) => revision.revision },
    ],
    validateCreate: ({ data }) => dataFaults(data),
  },
  {
    data: f.rawExtension(2, "The stored state.").immutable(),
    revision: f.int64(3, "Number of the revision, rising.").min(0).default(0).printZero(),
  },
)
export type ControllerRevision = ObjectOfResource<typeof ControllerRevision>

function dataFaults(given: unknown): readonly Cause[] {
  const data = given instanceof RawJson ? given.value : given
  if (data === undefined || data === null) return [required("data", "data is mandatory")]
  return typeof data === "object" && !Array.isArray(data) ? [] : [required("data", "data must be a valid JSON object")]
}

/** Returns the controlling owner as `statefulset.apps/web`; `<none>` without one. */
function controllerOf({
  metadata,
}: {
  readonly metadata: {
    readonly ownerReferences?:
      | readonly {
          readonly apiVersion: string
          readonly kind: string
          readonly name: string
          readonly controller?: boolean | undefined
        }[]
      | undefined
  }
}): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (owner === undefined) return "<none>"
  const slash = owner.apiVersion.indexOf("/")
  return `${owner.kind.toLowerCase()}${slash === -1 ? "" : `.${owner.apiVersion.slice(0, slash)}`}/${owner.name}`
}
