import { NEEDS_HASH } from "../resource/annotations.ts"
import { contentHash } from "../resource/hash.ts"
import type { Transformer } from "./transformer.ts"

/** Appends the hash of their content to the names of generated objects. Source: kustomize HashTransformer.go. */
export const HASH_TRANSFORMER: Transformer = {
  transform(map) {
    for (const resource of map.resources) {
      if (!resource.isEnabled(NEEDS_HASH)) continue
      const hash = contentHash(resource)
      resource.storePreviousId()
      resource.setName(`${resource.name}-${hash}`)
    }
  },
}
