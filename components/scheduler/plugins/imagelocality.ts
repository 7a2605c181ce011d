import { MAX_SCORE, SKIP, SUCCESS, type Plugin } from "../framework.ts"

const NAME = "ImageLocality"
const MB = 1024 * 1024
/** Source: plugins/imagelocality: below the first nothing is gained, above the second (for each container) nothing more. */
const MIN_BYTES = 23 * MB
const MAX_BYTES = 1000 * MB

/**
 * Rather where the images are already; an image that few nodes have counts less, so that pods do not crowd there. `imageNodes` tells how
 * many nodes have an image. Source: plugins/imagelocality.
 */
export const imageLocality = (imageNodes: ReadonlyMap<string, number>): Plugin => ({
  name: NAME,
  // Images that are nowhere yet make no difference.
  preScore(state, { spec }) {
    const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ image }) => normalizedName(image ?? ""))
    if (!names.some((name) => imageNodes.has(name))) return SKIP
    state.set(NAME, names)
    return SUCCESS
  },
  score(state, _pod, { images }, totalNodes) {
    const names = state.get(NAME) as readonly string[]
    let sum = 0
    for (const name of names) sum += ((images.get(name) ?? 0) * (imageNodes.get(name) ?? 0)) / totalNodes
    const most = MAX_BYTES * names.length
    return Math.floor((MAX_SCORE * (Math.min(Math.max(sum, MIN_BYTES), most) - MIN_BYTES)) / (most - MIN_BYTES))
  },
})

/** An image without a tag is the latest. */
const normalizedName = (image: string): string =>
  image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image
