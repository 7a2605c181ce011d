import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  forbiddenField,
  invalidValue,
  notSupported,
  required,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { mandatoryLevelSpec } from "./bootstrap.ts"
import {
  PriorityLevelConfigurationSpec,
  type ExemptPriorityLevelConfiguration,
  type LimitedPriorityLevelConfiguration,
  type LimitResponse,
  type QueuingConfiguration,
} from "./prioritylevelconfigurationspec.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: pkg/apis/flowcontrol/validation/validation.go, for PriorityLevelConfigurations. */

/** An annotation of v1beta3 with the meaning that the value 0 has in v1. */
const PRESERVE_ZERO = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
const MOST_QUEUES = 10_000_000
/** The number of bits of the hash that chooses the queues of a flow. Source: apiserver pkg/util/shufflesharding. */
const MOST_HASH_BITS = 60

/** The parts of a PriorityLevelConfiguration that its rules read. */
interface LevelView {
  readonly metadata: ObjectMeta
  readonly spec: PriorityLevelConfigurationSpec
}

export function priorityLevelFaults({ metadata, spec }: LevelView): readonly Cause[] {
  const { name = "", annotations = {} } = metadata
  const causes: Cause[] = []
  if (annotations[PRESERVE_ZERO] !== undefined)
    causes.push(forbiddenField("metadata.annotations", `annotation '${PRESERVE_ZERO}' is forbidden`))
  within(causes, specFaults(name, spec), "spec")
  const fixed = mandatoryLevelSpec(name)
  if (fixed === undefined) return causes
  const refuse = (detail: string) =>
    causes.push(invalidValue("spec", goForm(PriorityLevelConfigurationSpec, spec), detail))
  if (name === "exempt") {
    if (!deepEqual({ ...spec, exempt: fixed.exempt }, fixed))
      refuse("spec of 'exempt' except the 'spec.exempt' field must equal the fixed value")
  } else if (!deepEqual(spec, fixed)) refuse(`spec of '${name}' must equal the fixed value`)
  return causes
}

function specFaults(name: string, { type, limited, exempt }: PriorityLevelConfigurationSpec): readonly Cause[] {
  const causes: Cause[] = []
  if ((name === "exempt") !== (type === "Exempt"))
    causes.push(invalidValue("type", type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  switch (type) {
    case "Exempt":
      if (limited !== undefined) causes.push(forbiddenField("limited", "must be nil if the type is not Limited"))
      if (exempt !== undefined) within(causes, exemptFaults(exempt), "exempt")
      break
    case "Limited":
      if (exempt !== undefined) causes.push(forbiddenField("exempt", "must be nil if the type is Limited"))
      if (limited === undefined) causes.push(required("limited", "must not be empty when type is Limited"))
      else within(causes, limitedFaults(limited), "limited")
      break
    default:
      causes.push(notSupported("type", type, ["Exempt", "Limited"]))
  }
  return causes
}

const sharesFaults = (shares: number): readonly Cause[] =>
  shares < 0 ? [invalidValue("nominalConcurrencyShares", shares, "must be a non-negative integer")] : []

const lendableFaults = (percent: number): readonly Cause[] =>
  percent < 0 || percent > 100 ? [invalidValue("lendablePercent", percent, "must be between 0 and 100, inclusive")] : []

const exemptFaults = (exempt: ExemptPriorityLevelConfiguration): readonly Cause[] => [
  ...sharesFaults(exempt.nominalConcurrencyShares),
  ...lendableFaults(exempt.lendablePercent),
]

function limitedFaults(limited: LimitedPriorityLevelConfiguration): readonly Cause[] {
  const { borrowingLimitPercent: borrowing } = limited
  const causes: Cause[] = [...sharesFaults(limited.nominalConcurrencyShares)]
  within(causes, responseFaults(limited.limitResponse), "limitResponse")
  pushAll(causes, lendableFaults(limited.lendablePercent))
  if (borrowing !== undefined && borrowing < 0)
    causes.push(invalidValue("borrowingLimitPercent", borrowing, "if specified, must be a non-negative integer"))
  return causes
}

function responseFaults({ type, queuing }: LimitResponse): readonly Cause[] {
  const causes: Cause[] = []
  switch (type) {
    case "Reject":
      if (queuing !== undefined)
        causes.push(forbiddenField("queuing", "must be nil if limited.limitResponse.type is not Limited"))
      break
    case "Queue":
      if (queuing === undefined)
        causes.push(required("queuing", "must not be empty if limited.limitResponse.type is Limited"))
      else within(causes, queuingFaults(queuing), "queuing")
      break
    default:
      causes.push(notSupported("type", type, ["Queue", "Reject"]))
  }
  return causes
}

function queuingFaults({ queues, handSize, queueLengthLimit }: QueuingConfiguration): readonly Cause[] {
  const causes: Cause[] = []
  if (queueLengthLimit <= 0) causes.push(invalidValue("queueLengthLimit", queueLengthLimit, "must be positive"))
  if (queues <= 0) causes.push(invalidValue("queues", queues, "must be positive"))
  else if (queues > MOST_QUEUES) causes.push(invalidValue("queues", queues, `must not be greater than ${MOST_QUEUES}`))
  const refuse = (detail: string) => causes.push(invalidValue("handSize", handSize, detail))
  if (handSize <= 0) refuse("must be positive")
  else if (handSize > queues) refuse(`should not be greater than queues (${queues})`)
  else if (Math.ceil(Math.log2(queues) * handSize) > MOST_HASH_BITS)
    refuse(
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${MOST_HASH_BITS}`,
    )
  return causes
}
