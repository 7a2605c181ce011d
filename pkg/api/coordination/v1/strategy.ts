import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValues, NO_CAUSES, notSupported } from "../../../apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../apimachinery/validation/names.ts"

/** The strategy by which this cluster elects holders. */
export const OLDEST_EMULATION_VERSION = "OldestEmulationVersion"

/**
 * Returns the faults of the strategy of an election: one of Kubernetes' own, or one with a domain. Upstream names the
 * field twice. Source: ValidateCoordinatedLeaseStrategy in pkg/apis/coordination/validation.
 */
export function strategyFaults(strategy: string): readonly Cause[] {
  const field = "spec.strategy.strategy"
  if (strategy.includes("/")) return invalidValues(field, strategy, isQualifiedName(strategy))
  return strategy === OLDEST_EMULATION_VERSION ? NO_CAUSES : [notSupported(field, strategy, [OLDEST_EMULATION_VERSION])]
}
