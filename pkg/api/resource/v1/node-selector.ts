import type { Cause } from "../../../apimachinery/errors.ts"
import { required } from "../../../apimachinery/validation/field-errors.ts"
import type { NodeSelector } from "../../core/v1/pod/scheduling/affinity.ts"
import { validateNodeSelector } from "../../core/v1/pod/scheduling/scheduling-validation.ts"

/** Returns the faults of the field `nodeSelector` of a device, a slice or an allocation. Source: ValidateNodeSelector. */
export function nodeSelectorFaults(selector: NodeSelector): readonly Cause[] {
  const { nodeSelectorTerms = [] } = selector as Partial<NodeSelector>
  return nodeSelectorTerms.length === 0
    ? [required("nodeSelector.nodeSelectorTerms", "must have at least one node selector term")]
    : validateNodeSelector({ nodeSelectorTerms }, "nodeSelector")
}
