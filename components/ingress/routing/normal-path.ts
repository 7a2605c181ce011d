/** `.` or `..` beside what only some servers take for a slash, or for the end of an element: `%2F`, `\\`, `%5C`, `;`. */
const AMBIGUOUS = /(?:\/|\\|%2F|%5C)\.\.?(?:;|\\|%2F|%5C)|(?:\\|%2F|%5C)\.\.?(?:\/|$)/

/**
 * Returns the path by which a request is routed: without its query, with `.` and `..` resolved and with unreserved
 * characters decoded, so that `/public/../admin` and `/%61dmin` are routed like `/admin`. `%2F` stays as it is.
 * Undefined for a path that leaves the root, and for `/public/..%2Fadmin` or `/public/..;/admin`, in which some servers
 * see `/admin`. The backend gets the original path. Source: RFC 3986, 6.2.2.
 */
export function normalPath(target: string): string | undefined {
  const query = target.indexOf("?")
  const path = query < 0 ? target : target.slice(0, query)
  if (!path.includes("/.") && !path.includes("%") && !path.includes("\\")) return path
  const decoded = path.replaceAll(/%[0-9a-f]{2}/gi, (octet) => {
    const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : octet.toUpperCase()
  })
  if (AMBIGUOUS.test(decoded)) return undefined
  return decoded.includes("/.") ? withoutDots(decoded) : decoded
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
