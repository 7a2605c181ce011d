import {
  BOOTSTRAP_LEVELS,
  BOOTSTRAP_SCHEMAS,
  type BootstrapObject,
} from "../../../../pkg/api/flowcontrol/v1/bootstrap.ts"
import { DANGLING, FlowSchema } from "../../../../pkg/api/flowcontrol/v1/flowschema.ts"
import { PriorityLevelConfiguration } from "../../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"

/**
 * The FlowSchemas and priority levels that the server creates, corrects and deletes. Mandatory ones are always
 * corrected, suggested ones unless their annotation says otherwise. Source:
 * pkg/registry/flowcontrol/ensurer/strategy.go.
 */

/** The field managers under which the server creates and corrects objects, and applies statuses. */
export const PRODUCER = "api-priority-and-fairness-config-producer-v1"
export const CONSUMER = "api-priority-and-fairness-config-consumer-v1"

const AUTOUPDATE = "apf.kubernetes.io/autoupdate-spec"

export type FlowObject = FlowSchema | PriorityLevelConfiguration

/** An object that the server creates if it is missing. */
export interface EnsuredObject {
  readonly resource: Resource<FlowObject>
  readonly name: string
  readonly object: Pick<FlowObject, "spec" | "metadata">
  readonly mandatory: boolean
}

const ensured = (
  resource: Resource<FlowObject>,
  objects: readonly BootstrapObject<FlowObject["spec"]>[],
): readonly EnsuredObject[] =>
  objects.map(({ name, spec, mandatory }) => ({
    resource,
    name,
    mandatory,
    object: { metadata: { name, annotations: { [AUTOUPDATE]: "true" } }, spec },
  }))

/** All of them; priority levels first, so that no FlowSchema is created before its level. */
export const ENSURED: readonly EnsuredObject[] = [
  ...ensured(PriorityLevelConfiguration, BOOTSTRAP_LEVELS),
  ...ensured(FlowSchema, BOOTSTRAP_SCHEMAS),
]

/** Returns the stored object with the corrections it needs; the same object when it needs none. */
export function revised<T extends FlowObject>(stored: T, { object, mandatory }: EnsuredObject): T {
  const updates = mandatory || isUpdated(stored)
  const { metadata } = stored
  const isAnnotated = parsed(metadata.annotations?.[AUTOUPDATE]) === updates
  const spec = updates ? wantedSpec(stored, object.spec, mandatory) : stored.spec
  const isSpecRight = deepEqual(spec, stored.spec)
  if (isAnnotated && isSpecRight) return stored
  const annotations = isAnnotated ? metadata.annotations : { ...metadata.annotations, [AUTOUPDATE]: String(updates) }
  const generation = isSpecRight ? metadata.generation : (metadata.generation ?? 0) + 1
  return { ...stored, metadata: { ...metadata, annotations, generation }, spec }
}

/** The field `exempt` of the level `exempt` belongs to the administrator. Source: plcSpecEqualish. */
function wantedSpec(stored: FlowObject, spec: FlowObject["spec"], mandatory: boolean): FlowObject["spec"] {
  if (!mandatory || !("exempt" in spec)) return spec
  const { exempt } = stored.spec as PriorityLevelConfiguration["spec"]
  return exempt === undefined ? spec : { ...spec, exempt }
}

/**
 * Whether the server keeps a suggested object up to date. Without an annotation, it does if nobody has changed the
 * object.
 */
const isUpdated = ({ metadata }: FlowObject): boolean =>
  parsed(metadata.annotations?.[AUTOUPDATE]) ?? metadata.generation === 1

/** Whether the server once created an object, according to its annotation, but no longer wants it. */
export const isUnwanted = ({ metadata, kind }: KubeObject): boolean =>
  parsed(metadata.annotations?.[AUTOUPDATE]) === true &&
  !ENSURED.some(({ resource, name }) => resource.kind === kind && name === metadata.name)

const TRUE: readonly string[] = ["1", "t", "T", "TRUE", "true", "True"]
const FALSE: readonly string[] = ["0", "f", "F", "FALSE", "false", "False"]
/** Parses a boolean as Go's strconv.ParseBool; undefined when it is none. */
const parsed = (text: string | undefined): boolean | undefined =>
  text === undefined ? undefined : TRUE.includes(text) ? true : FALSE.includes(text) ? false : undefined

/**
 * Returns the condition that says whether the priority level of a FlowSchema exists. Source: presyncFlowSchemaStatus.
 */
export function danglingCondition(
  { spec }: Pick<FlowSchema, "spec">,
  isThere: boolean,
): {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
} {
  const references = `This FlowSchema references the PriorityLevelConfiguration object named "${spec.priorityLevelConfiguration.name}"`
  return isThere
    ? { type: DANGLING, status: "False", reason: "Found", message: `${references} and it exists` }
    : { type: DANGLING, status: "True", reason: "NotFound", message: `${references} but there is no such object` }
}
