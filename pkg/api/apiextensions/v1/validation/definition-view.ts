import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import type { CustomResourceDefinitionSpec } from "../customresourcedefinitionspec.ts"
import type { CustomResourceDefinitionStatus } from "../customresourcedefinitionstatus.ts"

/** The parts of a CustomResourceDefinition that its rules read. */
export interface DefinitionView {
  readonly metadata: ObjectMeta
  readonly spec: CustomResourceDefinitionSpec
  readonly status: CustomResourceDefinitionStatus
}
