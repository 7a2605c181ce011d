import { MAX_SCORE, SKIP, SUCCESS, type Plugin } from "../framework.ts"

const NAME = "ImageLocality"
const MB = 1024 * 1024
/**
 * Source: plugins/imagelocality. Limits for the sum of the sizes of the pod's images on a node, each weighted by its
 * spread. The score rises from 0 at the first limit to 100 at the second limit times the number of containers.
 */
const MIN_BYTES = 23 * MB
const MAX_BYTES = 1000 * MB

/** Image name → number of nodes that have it, and its largest size in bytes. */
export type ImageSpread = ReadonlyMap<string, { readonly nodes: number; readonly bytes: number }>

/**
 * Prefers nodes that have the pod's images; an image that few nodes have counts less, so that pods do not crowd on
 * them. Source: plugins/imagelocality.
 */
export const imageLocality = (known: ImageSpread): Plugin => ({
  name: NAME,
  // Images that no node has, or that are too small to count, make no difference.
  preScore(state, { spec }, _nodes, { list }) {
    let most = 0
    const images = [...(spec.initContainers ?? []), ...spec.containers].map(({ image }) => {
      const name = normalizedName(image ?? "")
      const { nodes, bytes } = known.get(name) ?? { nodes: 0, bytes: 0 }
      const spread = nodes / list.length
      most += bytes * spread
      return { name, spread }
    })
    if (most <= MIN_BYTES) return SKIP
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
  /** The fraction of all nodes that have the image, 0 to 1. */
  readonly spread: number
}

/** An image without a tag has the tag latest. */
const normalizedName = (image: string): string =>
  image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image
