/** Where a request goes. The paths are escaped; that of the API is as it is sent. Source: Go net/http (ServeMux). */
export type Route =
  | { readonly to: "api"; readonly path: string }
  | { readonly to: "files"; readonly path: string }
  | { readonly to: "redirect"; readonly location: string }
  | { readonly to: "nowhere" }

export interface Prefixes {
  /** Ends with `/`. What is below one that begins with `/api` is passed on with it. */
  readonly api: string
  /** Ends with `/`; undefined where no files are served. */
  readonly files: string | undefined
}

export function routeOf(target: string, prefixes: Prefixes): Route {
  const at = target.indexOf("?")
  const [path, query] = at === -1 ? [target, ""] : [target.slice(0, at), target.slice(at)]
  const cleaned = cleanPath(path)
  if (cleaned !== path) return { to: "redirect", location: `${cleaned}${query}` }
  const { api, files } = prefixes
  const found = [files, api]
    .filter((prefix) => prefix !== undefined)
    .sort((a, b) => b.length - a.length)
    .find((prefix) => path.startsWith(prefix))
  if (found === undefined) {
    const isFolder = `${path}/` === api || `${path}/` === files
    return isFolder ? { to: "redirect", location: `${path}/${query}` } : { to: "nowhere" }
  }
  if (found === files) return { to: "files", path: path.slice(found.length - 1) }
  return { to: "api", path: sentForm(found.startsWith("/api") ? path : path.slice(found.length - 1)) }
}

/**
 * The path as it is sent: the form of addresses resolves `%2e%2e` too, and takes `\` for `/`. Filters must see what
 * the server will see.
 */
function sentForm(path: string): string {
  const url = new URL("http://server")
  url.pathname = path
  return url.pathname
}

/** Source: Go path.Clean, with the last `/` kept. */
function cleanPath(path: string): string {
  const kept: string[] = []
  for (const part of path.split("/"))
    if (part === "..") kept.pop()
    else if (part !== "" && part !== ".") kept.push(part)
  const joined = `/${kept.join("/")}`
  return path.endsWith("/") && joined !== "/" ? `${joined}/` : joined
}
