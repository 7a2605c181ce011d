import { BOOTSTRAP_LEVELS, BOOTSTRAP_SCHEMAS } from "../../../../pkg/api/flowcontrol/v1/bootstrap.ts"
import { FlowSchema } from "../../../../pkg/api/flowcontrol/v1/flowschema.ts"
import { PriorityLevelConfiguration } from "../../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"

/** The default content of mandatory objects that are missing in the store. They have no uid. */

export const mandatorySchemas = (): readonly FlowSchema[] =>
  BOOTSTRAP_SCHEMAS.filter(({ mandatory }) => mandatory).map(({ name, spec }) => ({
    apiVersion: FlowSchema.apiVersion,
    kind: FlowSchema.kind,
    metadata: { name },
    spec,
    status: {},
  }))

export const mandatoryLevels = (): readonly PriorityLevelConfiguration[] =>
  BOOTSTRAP_LEVELS.filter(({ mandatory }) => mandatory).map(({ name, spec }) => ({
    apiVersion: PriorityLevelConfiguration.apiVersion,
    kind: PriorityLevelConfiguration.kind,
    metadata: { name },
    spec,
    status: {},
  }))
