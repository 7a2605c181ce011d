/** Parses names of container images. Source: github.com/distribution/reference regexp.go and normalize.go. */
const DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const PATH_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
const TAG = "\\w[\\w.-]{0,127}"
const DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
const REFERENCE = new RegExp(
  `^(?<name>${DOMAIN}/${PATH_PART}(?:/${PATH_PART})*)(?::(?<tag>${TAG}))?(?:@(?<digest>${DIGEST}))?$`,
)
const IDENTIFIER = /^[a-f0-9]{64}$/
const LONGEST_NAME = 255
/** The longest name that is parsed, so that no client can make the server parse megabytes. */
const LONGEST = 1024

/**
 * Returns the tag of an image, `latest` when it has neither tag nor digest; undefined for an image with only a digest,
 * and for text that is not an image.
 */
export function imageTag(image: string): string | undefined {
  if (image.length > LONGEST || IDENTIFIER.test(image)) return undefined
  const [first, ...rest] = image.split("/")
  const isDomain = rest.length > 0 && (first === "localhost" || /[.:]/.test(first!) || first !== first!.toLowerCase())
  const whole = isDomain ? image : `docker.io/${rest.length === 0 ? "library/" : ""}${image}`
  const groups = REFERENCE.exec(whole)?.groups
  if (groups === undefined || groups["name"]!.length - whole.indexOf("/") - 1 > LONGEST_NAME) return undefined
  return groups["tag"] ?? (groups["digest"] === undefined ? "latest" : undefined)
}
