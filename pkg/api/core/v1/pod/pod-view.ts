import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import type { PodSpec } from "./podspec.ts"
import type { PodStatus } from "./podstatus.ts"

/** The parts of a pod that its rules read. */
export interface PodView {
  readonly metadata: ObjectMeta
  readonly spec: PodSpec
  readonly status: PodStatus
}
