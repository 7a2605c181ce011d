import type { YamlNode } from "../node/yaml-node.ts"
import type { MergeSchema } from "../schema/merge-schema.ts"

/** The two nodes at one place. */
export interface Pair {
  readonly target: YamlNode | undefined
  readonly patch: YamlNode | undefined
}

/** Merges what is at one place; undefined when the patch deletes it. */
export type MergeAt = (pair: Pair, schema: MergeSchema | undefined) => YamlNode | undefined
