import { FlowSchema } from "../../../../pkg/api/flowcontrol/v1/flowschema.ts"
import { asKind } from "../../../../pkg/apimachinery/resource.ts"
import { timestamp, type Clock } from "../../../../pkg/clock/clock.ts"
import { CONSUMER, danglingCondition, ENSURED, PRODUCER, revised, type EnsuredObject } from "./ensured-objects.ts"
import { want, type Applied, type Wanted } from "../../bootstrap/bootstrap-object.ts"

/** The objects of priority and fairness that the server creates, decoded once per process. */
let ensuredEverywhere: readonly Wanted[] | undefined

/** Returns the FlowSchemas and priority levels that every cluster has. */
export function flowControlObjects(clock: Clock): readonly Wanted[] {
  const lastTransitionTime = timestamp(clock)
  ensuredEverywhere ??= ENSURED.map((ensured) => wantFlowObject(ensured))
  return ensuredEverywhere.map((wanted) => {
    if (wanted.resource.kind !== FlowSchema.kind) return wanted
    const schema = asKind(FlowSchema, wanted.object)
    const status = { ...schema.status, conditions: [{ ...danglingCondition(schema, true), lastTransitionTime }] }
    const applied: Applied = { manager: CONSUMER, field: "status", subresource: "status" }
    return { ...wanted, applied, object: { ...schema, status } }
  })
}

const wantFlowObject = (ensured: EnsuredObject): Wanted =>
  want(ensured.resource, ensured.object, (stored) => revised(stored, ensured), { manager: PRODUCER })
