import { featuresToUpdate } from "../../../../pkg/api/core/v1/node/declared-features.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { on, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

/**
 * Refuses a change of a pod that needs what the pod's node does not declare. Source:
 * plugin/pkg/admission/nodedeclaredfeatures.
 */
export const nodeDeclaredFeatures = ({ objects }: AdmissionContext): AdmissionPlugin =>
  on(Pod, {
    name: "NodeDeclaredFeatureValidator",
    operations: ["UPDATE"],
    subresources: [undefined, "resize"],
    validate({ resource, name, object: { spec, metadata }, old }) {
      const { nodeName = "" } = spec
      if (nodeName === "" || old === undefined || old.metadata.generation === metadata.generation) return
      const wanted = featuresToUpdate(spec, old.spec)
      if (wanted.length === 0) return
      const node = objects.get(Node, { name: nodeName })
      if (node === undefined) throw forbidden(resource, name, `node ${JSON.stringify(nodeName)} not found`)
      const missing = wanted.filter((feature) => node.status.declaredFeatures?.includes(feature) !== true)
      if (missing.length > 0)
        throw forbidden(
          resource,
          name,
          `pod update requires features ${missing.join(", ")} which are not available on node ${JSON.stringify(nodeName)}`,
        )
    },
  })
