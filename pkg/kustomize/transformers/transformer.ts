import type { ResourceMap } from "../resource/resource-map.ts"

/** Changes the objects of a build in place. */
export interface Transformer {
  transform(map: ResourceMap): void
}

/** Makes objects. */
export interface Generator {
  generate(): Promise<ResourceMap>
}
