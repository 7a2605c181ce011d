const DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`
const PATH_PART = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
const NAME = `(?:${DOMAIN}/)?${PATH_PART}(?:/${PATH_PART})*`
const TAG = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
const DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
const REFERENCE = new RegExp(`^${NAME}(?::${TAG})?(?:@${DIGEST})?$`)

/** Whether a text names an image, with a tag and a digest if there are any. Source: distribution/reference regexp.go. */
export const isImageName = (text: string): boolean => REFERENCE.test(text)
