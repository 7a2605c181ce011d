import { MAX_SCORE, SKIP, SUCCESS, type Plugin } from "../framework.ts"

const NAME = "ImageLocality"
const MB = 1024 * 1024
/**
 * Source: plugins/imagelocality: below the first nothing is gained, above the second (for each container) nothing more.
 */
const MIN_BYTES = 23 * MB
const MAX_BYTES = 1000 * MB

/**
 * Rather where the images are already; an image that few nodes have counts less, so that pods do not crowd there.
 * `imageNodes` tells how many nodes have an image. Source: plugins/imagelocality.
 */
export const imageLocality = (imageNodes: ReadonlyMap<string, number>): Plugin => ({
  name: NAME,
  // Images that are nowhere yet make no difference.
  preScore(state, { spec }, _nodes, { list }) {
    const images = [...(spec.initContainers ?? []), ...spec.containers].map(({ image }) => {
      const name = normalizedName(image ?? "")
      return { name, spread: (imageNodes.get(name) ?? 0) / list.length }
    })
    if (images.every(({ spread }) => spread === 0)) return SKIP
    state.set(NAME, images)
    return SUCCESS
  },
  score(state, _pod, { images }) {
    const wanted = state.get(NAME) as readonly Wanted[]
    let sum = 0
    for (const { name, spread } of wanted) sum += (images.get(name) ?? 0) * spread
    const most = MAX_BYTES * wanted.length
    return Math.floor((MAX_SCORE * (Math.min(Math.max(sum, MIN_BYTES), most) - MIN_BYTES)) / (most - MIN_BYTES))
  },
})

interface Wanted {
  readonly name: string
  /** The part of all nodes that have the image, 0 to 1. */
  readonly spread: number
}

/** An image without a tag is the latest. */
const normalizedName = (image: string): string =>
  image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image
