/** `.` or `..` beside what only some servers take for a slash, or for the end of an element: `%2F`, `\\`, `%5C`, `;`. */
const AMBIGUOUS = /(?:\/|\\|%2F|%5C)\.\.?(?:;|\\|%2F|%5C)|(?:\\|%2F|%5C)\.\.?(?:\/|$)/
/**
 * `.` or `..` with bytes around that some servers cut off: control characters, space and bytes that are no ASCII, such as
 * the no-break space. In an element of which nothing else is left.
 */
const PADDED = /^(?:%(?:[01][\dA-F]|20|7F|[89A-F][\dA-F]))*\.\.?(?:%(?:[01][\dA-F]|20|7F|[89A-F][\dA-F]))*$/
/** UTF-8 that is longer than it must be, by which some servers read `%C0%AE` as a dot. Source: RFC 3629, 3. */
const OVERLONG = /%C[01]%[89AB]|%E0%[89]|%F0%8/
const MALFORMED = /%(?![\da-f]{2})/i

/**
 * Returns the path by which a request is routed: without its query, with `.` and `..` resolved and with unreserved
 * characters decoded, so that `/public/../admin` and `/%61dmin` are routed like `/admin`. `%2F` stays as it is.
 * Undefined for a path that leaves the root, that is not encoded as URLs are, or that servers read in different ways:
 * `/public/..%2Fadmin`, `/public/..;/admin`, `/public//../admin`, `/public/..%00/admin`, `/public/%C0%AE%C0%AE/admin` and
 * `/public/%252E%252E/admin`, in which some see `/admin`. The backend gets the original path. Source: RFC 3986, 6.2.2.
 */
export function normalPath(target: string): string | undefined {
  const query = target.indexOf("?")
  const path = query < 0 ? target : target.slice(0, query)
  if (!/\/\.|[%\\\x80-\xff]/.test(path)) return path
  if (MALFORMED.test(path)) return undefined
  const decoded = decodedOnce(path)
  if (isAmbiguous(decoded)) return undefined
  // A server behind the backend may decode once more what it gets.
  if (decoded.includes("%25") && isAmbiguous(decodedOnce(decoded.replaceAll("%25", "%")), true)) return undefined
  return decoded.includes("/.") ? withoutDots(decoded) : decoded
}

/** Decodes unreserved characters, and writes all other escapes in upper case. */
const decodedOnce = (path: string): string =>
  path.replaceAll(/%[\da-f]{2}/gi, (octet) => {
    const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : octet.toUpperCase()
  })

/** `refusesDots` refuses every `.` and `..`, also between slashes. */
function isAmbiguous(decoded: string, refusesDots = false): boolean {
  const octets = decoded.replaceAll(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
  if (octets.includes("%00") || OVERLONG.test(octets) || AMBIGUOUS.test(octets)) return true
  let hasEmpty = false
  for (const element of octets.split("/").slice(1)) {
    const isDots = element === "." || element === ".."
    // Many servers join slashes, and then `..` takes another element away.
    if (isDots && (refusesDots || (hasEmpty && element === ".."))) return true
    if (!isDots && PADDED.test(element)) return true
    hasEmpty ||= element === ""
  }
  return false
}

function withoutDots(path: string): string | undefined {
  const kept: string[] = []
  const elements = path.split("/")
  for (const [i, element] of elements.entries()) {
    const isDots = element === "." || element === ".."
    if (element === "..") {
      if (kept.length <= 1) return undefined
      kept.pop()
    } else if (!isDots) kept.push(element)
    if (isDots && i === elements.length - 1) kept.push("")
  }
  return kept.join("/")
}

/** Returns a path without the slashes at its end. Not by an expression, which takes quadratic time for many slashes. */
export function withoutSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === "/") end--
  return path.slice(0, end)
}
