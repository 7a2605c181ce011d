/** The parts of an image reference. Source of the grammar: distribution/reference. */
export interface ImageName {
  /** `docker.io` when none is named. */
  readonly registry: string
  /** With `library/` for Docker's official images. */
  readonly repository: string
  readonly tag: string | undefined
  readonly digest: string | undefined
  /** The reference as given, with `:latest` when it had neither tag nor digest. */
  readonly tagged: string
}

const COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
const DOMAIN =
  "(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?"
const REFERENCE = new RegExp(
  `^((?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*)(?::([\\w][\\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
)

/** @throws Error in Docker's words for an invalid reference */
export function parseImageName(image: string): ImageName {
  const match = REFERENCE.exec(image)
  if (match === null) {
    const why = REFERENCE.test(image.toLowerCase()) ? "repository name must be lowercase" : "invalid reference format"
    throw new Error(`couldn't parse image name "${image}": ${why}`)
  }
  const [, name = "", tag, digest] = match
  if (/^[a-f0-9]{64}$/.test(name))
    throw new Error(
      `couldn't parse image name "${image}": invalid repository name (${name}), cannot specify 64-byte ` +
        "hexadecimal strings",
    )
  const slash = name.indexOf("/")
  const first = slash < 0 ? "" : name.slice(0, slash)
  const hasRegistry =
    first.includes(".") || first.includes(":") || first === "localhost" || first.toLowerCase() !== first
  const registry = hasRegistry ? (first === "index.docker.io" ? "docker.io" : first) : "docker.io"
  const path = hasRegistry ? name.slice(slash + 1) : name
  const repository = registry === "docker.io" && !path.includes("/") ? `library/${path}` : path
  return {
    registry,
    repository,
    tag,
    digest,
    tagged: tag === undefined && digest === undefined ? `${image}:latest` : image,
  }
}
